# frozen_string_literal: true

module Pshub
  # CRC-16/XMODEM, by the byte: the hash of keys on a Cluster (redis.io, "Redis cluster specification", appendix A).
  module Crc16
    TABLE = Array.new(256) do |byte|
      8.times.inject(byte << 8) { |crc, _| ((crc << 1) ^ (crc.anybits?(0x8000) ? 0x1021 : 0)) & 0xffff }
    end.freeze

    module_function

    def of(text) = text.each_byte.inject(0) { |crc, byte| ((crc << 8) ^ TABLE[((crc >> 8) ^ byte) & 0xff]) & 0xffff }
  end
end
