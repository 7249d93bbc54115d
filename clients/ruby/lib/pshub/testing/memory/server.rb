# frozen_string_literal: true

require "monitor"
require "socket"
require_relative "../../redis/lua_sources"
require_relative "../../wire/clock"
require_relative "../../wire/errors"
require_relative "line"
require_relative "lua"
require_relative "replies"

module Pshub
  # A Redis in this process, for tests: its commands and pshub's functions run in Lua; what is here moves bytes and tells the time. Connected to
  # over lines, each of which stands for the way of one process. Keeps its keys while it is away.
  class MemoryRedis
    CHUNK = 65_536
    CLOSED = "This kit was closed; make a new one."

    # How many commands it has run: whether something is going on.
    attr_reader :commands

    # Raises ConfigError when the system has no Lua.
    def initialize
      @lua = Lua.new(LuaSources.text("testing/memory/redis.lua"))
      @lock = Monitor.new
      @lines = []
      # By their sockets.
      @ids = {}
      @of = {}
      @asked = Thread::Queue.new
      @woken, @wake = IO.pipe
      @soonest = Float::INFINITY
      @commands = 0
      @away = @closed = false
      @thread = Thread.new { serve until @closed }
    end

    # A new way to it. Raises ConfigError when it was closed.
    def line
      look_alive
      MemoryLine.new(self).tap { |line| on_thread { @lines << line } }
    end

    # All connections break, and no new one lives, until it comes back with all its keys.
    def go_away
      look_alive
      @away = true
      on_thread { @lines.each(&:drop) }
    end

    def come_back = @away = false

    # Runs one command, as redis-cli would. Raises RedisError as Redis answers, ConfigError for what is none.
    def command(*words)
      look_alive
      raise ConfigError, "redis.command takes the words of a command, not #{words.inspect}." if words.empty? || words.include?(nil)

      answer = ask("command", *words.map(&:to_s)).first
      wake
      Replies.read(answer)
    end

    # What the machine says.
    def ask(verb, *words)
      @lock.synchronize { @closed ? [] : @lua.call(verb, (Clock.wall_ms * 1000).to_s, *words) }
    end

    # When a wait of somebody ends, by Clock.now.
    def soonest_at = Clock.now + (@soonest - (Clock.wall_ms / 1000.0))

    # The clock was moved.
    def wake
      @wake.write_nonblock(".")
    rescue IO::WaitWritable, IOError
      nil
    end

    # Does it on its own thread, and returns then.
    def on_thread(&act)
      return if @closed
      return yield if Thread.current == @thread

      done = Thread::Queue.new
      @asked << [act, done]
      wake
      done.pop
    end

    def close
      return if @closed

      on_thread { @lines.each { |line| line.cut unless line.cut? } }
      @lock.synchronize { @closed = true }
      wake
      @thread.join
      [@woken, @wake].each(&:close)
      @lua.close
    end

    # On its own thread.
    def leave(line, socket)
      id = @ids.delete(socket)
      @of.delete(id)
      line.delete(socket)
      ask("close", id) if id
      # What was written to it and not read by it goes with it.
      socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      socket.close
    rescue IOError, SystemCallError
      nil
    end

    private

    def look_alive
      raise ConfigError, CLOSED if @closed
    end

    def serve
      lines = @lines.reject { |line| line.listener.closed? }
      ready, = IO.select([@woken, *lines.map(&:listener), *@ids.keys], nil, nil, [@soonest - (Clock.wall_ms / 1000.0), 0].max.then { |s| s.finite? ? s : nil })
      @woken.read_nonblock(CHUNK, exception: false)
      obey until @asked.empty?
      lines.each { |line| admit(line) if ready&.include?(line.listener) && !line.listener.closed? }
      (ready.to_a & @ids.keys).each { |socket| take(socket) }
      send_out(ask("tick"))
    end

    def obey
      act, done = @asked.pop
      act.call
      done << true
    end

    def admit(line)
      while (socket = line.listener.accept_nonblock(exception: false)).is_a?(BasicSocket)
        next socket.close if @away

        id = ask("open").first
        @ids[socket] = id
        @of[id] = [line, socket]
        line.add(socket)
      end
    end

    def take(socket)
      bytes = socket.read_nonblock(CHUNK, exception: false)
      return if bytes == :wait_readable
      return leave(@of.fetch(@ids[socket]).first, socket) if bytes.nil?

      send_out(ask("feed", @ids[socket], bytes))
    rescue SystemCallError, IOError
      leave(@of.fetch(@ids[socket]).first, socket) if @ids[socket]
    end

    def send_out(flat)
      flat.each_slice(2) do |id, bytes|
        line, socket = @of[id]
        next unless socket

        begin
          socket.write(bytes)
        rescue SystemCallError, IOError
          leave(line, socket)
        end
      end
      commands, soonest_us, = ask("look")
      @commands = commands.to_i
      @soonest = soonest_us.nil? || soonest_us == "inf" ? Float::INFINITY : (soonest_us.to_f / 1e6) + 0.001
    end
  end
end
