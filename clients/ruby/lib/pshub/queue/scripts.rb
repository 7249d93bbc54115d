# frozen_string_literal: true

require "digest/sha1"
require_relative "../redis/connection"

module Pshub
  # The Lua scripts, byte for byte those of the reference implementation; sent by their digest, and in full where the link does
  # not know them yet.
  class Script
    FOLDER = File.expand_path("lua", __dir__)

    def initialize(name)
      @text = File.read(File.join(FOLDER, "#{name}.lua"), encoding: Encoding::UTF_8).freeze
      @digest = Digest::SHA1.hexdigest(@text)
    end

    def full(keys, args) = ["EVAL", @text, keys.size, *keys, *args]

    # In full once per link: nothing that is sent behind a script may run ahead of its second try.
    def command(connection, keys, args)
      connection.tell?(@digest) ? full(keys, args) : ["EVALSHA", @digest, keys.size, *keys, *args]
    end

    # Runs it behind other commands, whose errors count. Returns its answer or raises its ReplyError.
    def run(connection, keys, args, ahead: [], &block)
      *before, answer = connection.run(*ahead, command(connection, keys, args), &block)
      # NOSCRIPT means that nothing was run, so sending it again in full is safe.
      answer = connection.one(*full(keys, args)) if answer.is_a?(ReplyError) && answer.no_script?
      Connection.checked([answer, *before]).first
    end

    PUSH, CLAIM, REPLY, BEAT, HANDBACK, LEAVE, ADOPT, CANCEL, DECLARE =
      %w[push claim reply beat handback leave adopt cancel declare].map { |name| new(name) }
  end
end
