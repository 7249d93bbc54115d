# frozen_string_literal: true

require_relative "addresses"
require_relative "failures"

module Pshub
  # Which keys of a Cluster lie together. PROTOCOL.md, section 14.6.
  module KeySlots
    COUNT = 16_384
    # CRC-16/XMODEM, by the byte: the key hash of the Cluster specification.
    CRC = Array.new(256) do |byte|
      8.times.inject(byte << 8) { |crc, _| ((crc << 1) ^ ((crc & 0x8000).zero? ? 0 : 0x1021)) & 0xffff }
    end.freeze
    # What is kept here is few: queues, hubs and the registry's keys.
    MOST_KEPT = 10_000
    # Words without a key: about the server, or about the connection.
    KEYLESS = %w[CLIENT CLUSTER CONFIG FUNCTION INFO PING SCAN TIME WAIT].freeze
    @known = {}

    module_function

    # The slot of a key: that of what stands between the first { and the next }, if anything does.
    def of(key)
      tag = tag_of(key.to_s.b)
      known = KeySlots.known[tag]
      return known if known

      KeySlots.known.clear if KeySlots.known.size >= MOST_KEPT
      KeySlots.known[tag] = tag.each_byte.inject(0) { |crc, byte| ((crc << 8) ^ CRC[((crc >> 8) ^ byte) & 0xff]) & 0xffff } % COUNT
    end

    # The key that decides where a command goes; nil: it has none. Those that name several name keys of one slot.
    def key_of(command)
      return (command[3] if command[2].to_i.positive?) if function?(command)

      command[1] unless KEYLESS.include?(command[0])
    end

    def function?(command) = command[0] == "FCALL"

    # As a function is called on a Cluster: with one key more, of the same queue, that nobody ever makes. While a slot moves to another
    # node, Redis answers TRYAGAIN or ASK when a key that is named is not there, instead of running a function with some of a queue's keys
    # (those that it does not name are looked for only while it runs).
    def with_absent(command)
      return command unless function?(command) && (key = key_of(command)) && (at = key.to_s.index("}:"))

      count = command[2].to_i
      [*command[0, 2], count + 1, *command[3, count], "#{key[0..at]}:moving", *command[(3 + count)..]]
    end

    def self.known = @known

    def tag_of(key)
      start = key.index("{")
      stop = start && key.index("}", start + 1)
      stop && stop > start + 1 ? key[(start + 1)...stop] : key
    end
  end

  # Another node is named by an answer: the command was not run. +once+: for this command only.
  Redirect = Struct.new(:once, :slot, :address) do
    # nil for another answer. +asked+: the Address that stands where no host is named.
    def self.of(answer, asked)
      return unless answer.is_a?(ReplyError)

      word, slot, host, port = answer.message.match(/\A(MOVED|ASK) (\d+) (.*):(\d+)/)&.captures
      return unless word

      host = host.delete("[]?")
      new(word == "ASK", slot.to_i, Address.new(host.empty? ? asked.host : host, port.to_i))
    end
  end
end
