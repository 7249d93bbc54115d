# frozen_string_literal: true

require_relative "connection"
require_relative "failures"
require_relative "lua_sources"

module Pshub
  # Of the library in Redis: grows with each change of it that is published. A higher one replaces a lower one, never the other
  # way round.
  LIBRARY_REVISION = 7

  # All that is done in one step in Redis, as a library of Redis Functions. A client needs its names alone; whoever has the right
  # loads it where it is missing or older.
  module Library
    # With the protocol's version: the libraries of two versions live side by side.
    NAME = "pshub_1"
    # The library may be gone once more before the function is called again.
    TRIES = 5
    FILE = "redis/library.lua"

    # The +revision+ that is there now, nil for none, and the +refusal+, a text, where it could not be loaded.
    Installed = Struct.new(:revision, :refusal) do
      def fit? = !revision.nil? && revision >= LIBRARY_REVISION
    end

    module_function

    def command(operation, keys, args) = ["FCALL", "#{NAME}_#{operation}", keys.size, *keys, *args]

    # Runs a function. Returns its answer or raises its ReplyError.
    def run(connection, operation, keys, args, &block)
      Connection.checked(send_all(connection, command(operation, keys, args), &block)).first
    end

    # As Connection#run. Functions that are missing, which means that nothing was run, are called once more when the library could
    # be loaded: somebody flushed this Redis, or it is a new one, or a replica was promoted that had not heard of it.
    def send_all(connection, *commands, &block)
      answers = connection.run(*commands, &block)
      (TRIES - 1).times do
        missing = answers.each_index.select { |at| answers[at].is_a?(ReplyError) && answers[at].no_function? }
        break if missing.empty?

        # On the very servers that lack it.
        refusal = commands.values_at(*missing).map { |each| connection.of(each) }.uniq(&:server).filter_map { |each| install(each).refusal }.first
        # Who may not load it is told what is missing, and what to do about it; who could but for a full Redis, that.
        missing.each { |at| answers[at] = ReplyError.new(refusal) } if refusal&.match?(/\A(OOM|MISCONF)/)
        break if refusal

        connection.run(*commands.values_at(*missing)).zip(missing) { |answer, at| answers[at] = answer }
      end
      answers
    end

    # Sees to it that this Redis has the library, of this revision or a newer one. Raises the ReplyErrors that may pass by
    # themselves.
    def install(connection)
      present = revision(connection)
      return Installed.new(present) if Installed.new(present).fit?

      answer = connection.run(["FUNCTION", "LOAD", *("REPLACE" if present), LuaSources.text(FILE)]).first
      raise answer if answer.is_a?(ReplyError) && answer.passing?

      # Else somebody was quicker.
      refused = answer.is_a?(ReplyError) && !answer.message.include?("already exists")
      return Installed.new(present, answer.message) if refused

      # Asked again, and not taken for granted: a newer one may have come at the same moment, and an older one replaced it.
      Installed.new(revision(connection))
    rescue Errno::ENOENT
      Installed.new(present, "#{FILE} is not there")
    end

    # Of the library in this Redis; nil when there is none.
    def revision(connection)
      connection.one(*command("revision", [], []))
    rescue ReplyError => e
      raise unless e.no_function?
    end
  end
end
