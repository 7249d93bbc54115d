# frozen_string_literal: true

require "json"
require "socket"
require_relative "../outlets/log"
require_relative "../wire/clock"
require_relative "../wire/errors"

module Pshub
  # Answers probes over HTTP: +/livez+, whether the threads of the worker live and have their turns, and +/readyz+, whether a lease is held in
  # each place. A handler that keeps all threads from their turns, as an extension can, keeps these as well: nobody answers then, and the
  # patience of the probe decides.
  class Health
    # A probe that gave up meanwhile comes again within this time, and is told.
    REMEMBERED_S = 10.0
    TICK_S = 0.1
    # What a probe may take to say what it wants, how much that may be, and how many may be at it.
    PATIENCE_S = 5.0
    MOST_BYTES = 8192
    AT_ONCE = 16
    TITLES = { 200 => "OK", 400 => "Bad Request", 404 => "Not Found", 503 => "Service Unavailable" }.freeze

    # +service+ is asked for #health_state (starting, serving or stopping), #uncertain (the places in which the lease is not certain),
    # #connected? and #ended_threads (names of those that should live and do not).
    def initialize(settings, service)
      @port = settings.health_port
      @lease_s = settings.lease
      @service = service
      @room = Thread::SizedQueue.new(AT_ONCE)
      @lock = Mutex.new
      @ticked_at = Clock.now
      # When they went on, and how late that was.
      @stalls = []
    end

    # Does nothing without a port. Raises ConfigError when it cannot be had.
    def open
      return if @port.nil?

      @listener = listen
      @ticked_at = Clock.now
      @threads = [Thread.new { tick }, Thread.new { accept }]
      Log.write(:info, "probes are answered: /livez and /readyz", { port: @listener.local_address.ip_port })
    rescue SystemCallError => e
      raise ConfigError, why_not(e)
    end

    def close
      return unless @listener

      @threads.each(&:kill).each(&:join)
      @listener.close
      @listener = nil
    end

    private

    # On all addresses of the host; those of IPv4 alone where it has no others.
    def listen
      listen_on("::") { |socket| socket.setsockopt(:IPV6, :V6ONLY, false) }
    rescue Errno::EAFNOSUPPORT, Errno::EADDRNOTAVAIL
      listen_on("0.0.0.0")
    end

    def listen_on(host)
      address = Addrinfo.tcp(host, @port)
      socket = Socket.new(address.afamily, :STREAM)
      socket.setsockopt(:SOCKET, :REUSEADDR, true)
      yield socket if block_given?
      socket.bind(address)
      socket.listen(Socket::SOMAXCONN)
      socket
    rescue SystemCallError
      socket&.close
      raise
    end

    def why_not(error)
      because = "another program listens there; give each worker on a machine its own port" if error.is_a?(Errno::EADDRINUSE)
      "The worker cannot answer probes on port #{@port} (health_port, --health-port or PSHUB_HEALTH_PORT): #{because || error.message}."
    end

    # Whether threads have their turns.

    def tick
      loop do
        sleep TICK_S
        @lock.synchronize do
          now = Clock.now
          @stalls.shift while @stalls.any? && @stalls.first.first < now - REMEMBERED_S
          @stalls << [now, now - @ticked_at - TICK_S]
          @ticked_at = now
        end
      end
    end

    def blocked_s
      @lock.synchronize do
        now = Clock.now
        late = @stalls.select { |ended_at, _| ended_at >= now - REMEMBERED_S }.map(&:last)
        [0, now - @ticked_at - TICK_S, *late].max
      end
    end

    # What a probe is told.

    def live
      ended = @service.ended_threads
      return [503, { live: false, reason: "a thread has ended: #{ended.join(', ')}" }] if ended.any?

      blocked = blocked_s
      # For longer than that its lease was over, and others have taken over what it held.
      return [200, { live: true }] if blocked <= @lease_s

      [503, { live: false, reason: "its threads were blocked", blockedMs: (blocked * 1000).round }]
    end

    def ready
      reason = why_not_ready
      reason ? [503, { ready: false, reason: reason }] : [200, { ready: true }]
    end

    def why_not_ready
      state = @service.health_state
      return state unless state == "serving"

      without = @service.uncertain
      return if without.empty?

      @service.connected? ? "no lease in #{without.join(', ')}" : "Redis is unreachable"
    end

    def answer(request_line)
      _, path, version, more = request_line.to_s.split(" ", 4)
      return [400, { error: "That is not an HTTP request." }] if more || !version.to_s.start_with?("HTTP/1.")

      case path.split("?", 2).first
      when "/livez" then live
      when "/readyz" then ready
      else [404, { error: "Only /livez and /readyz exist here." }]
      end
    end

    # HTTP.

    def accept
      loop do
        converse(@listener.accept.first)
      rescue SystemCallError
        # It was gone again, or there are too many open files, which passes.
        sleep TICK_S
      end
    end

    def converse(client)
      @room << client
      Thread.new do
        head = read_head(client)
        tell(client, head) if head
      rescue SystemCallError, IOError
        # It went away.
      ensure
        client.close
        @room.pop
      end
    end

    # nil for one that went away, or says nothing; what is too long is no request.
    def read_head(client)
      finish = Clock.now + PATIENCE_S
      head = +""
      until head.include?("\r\n\r\n")
        return "" if head.bytesize > MOST_BYTES
        return unless client.wait_readable([0, finish - Clock.now].max)

        part = client.read_nonblock(MOST_BYTES, exception: false)
        return if part.nil?

        head << part unless part == :wait_readable
      end
      head
    end

    def tell(client, head)
      request_line = head.b.lines("\r\n", chomp: true).first
      status, said = answer(request_line)
      body = "#{JSON.generate(said)}\n"
      # Each probe is a connection: one that stays open would hold up the end.
      client.write("HTTP/1.1 #{status} #{TITLES.fetch(status)}\r\ncontent-type: application/json\r\n" \
                   "content-length: #{body.bytesize}\r\nconnection: close\r\n\r\n#{body unless request_line.to_s.start_with?('HEAD ')}")
    end
  end
end
