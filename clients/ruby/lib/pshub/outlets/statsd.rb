# frozen_string_literal: true

require "socket"
require_relative "../figures/task_stats"
require_relative "../wire/errors"

module Pshub
  # Metrics over plain UDP, with the names and tags of the reference. Lines are collected into packets, for half a second at the most;
  # a daemon that is away fails nothing. Tags are written as DogStatsD reads them.
  class StatsD
    MAX_PACKET = 1400
    FLUSH_S = 0.5

    # nil without an address.
    def self.watch(events, address) = address && new(address).tap { |client| client.listen(events) }

    def initialize(address)
      host, _, port = address.rpartition(":")
      @address = [host, port.to_i]
      @lock = Mutex.new
      @lines = []
      # By task.
      @counts = {}
      @size = 0
      # The process in which a thread is on its way to send what there is: none goes along into a fork.
      @sending_in = nil
    end

    def timing(name, milliseconds, **tags) = add("pshub.#{name}:#{format('%.3f', milliseconds)}|ms", tags)
    def count(name, by = 1, **tags) = add("pshub.#{name}:#{by}|c", tags)
    def gauge(name, value, **tags) = add("pshub.#{name}:#{value}|g", tags)
    def flush = @lock.synchronize { send_lines }

    def listen(events)
      events.on("call:settled") { |event| call_settled(event) }
      events.on("reply:late") { count("call.late_reply") }
      events.on("queue:pushed") { |event| gauge("queue.backlog", event[:length] + event[:count], queue: event[:queue]) }
      events.on("claim:taken") { |event| claim_taken(event) }
      events.on("request:expired") { |event| count("worker.rejected", queue: event[:queue], code: "Expired") }
      # Without its task: what was pushed by hand may name anything.
      events.on("request:unserved") { |event| count("worker.rejected", **event.slice(:queue, :code)) }
      events.on("task:elsewhere") { |event| count("worker.task_elsewhere", **event.slice(:queue, :task)) }
      events.on("task:settled") { |event| task_settled(event) }
    end

    private

    def call_settled(event)
      timing("call.time", event[:ms], task: event[:task]) if run?(event)
      # Without the name of what does not exist: it may be anything, each time another one.
      tags = { task: event[:code] == "NoSuchTask" ? nil : event[:task], code: bounded(event) }.compact
      count("call.#{event[:outcome]}", **tags)
    end

    def claim_taken(event)
      gauge("queue.backlog", event[:left], queue: event[:queue])
      count("worker.rejected", event[:expired], queue: event[:queue], code: "Expired") if event[:expired].positive?
    end

    def task_settled(event)
      tags = { task: event[:task], queue: event[:queue] }
      timing("queue.backlog_wait", event[:us].backlog / 1000.0, **tags)
      timing("worker.queue_wait", event[:us].queue / 1000.0, **tags)
      timing("job.key_wait", event[:key_us] / 1000.0, **tags) if event[:key_us]
      timing("worker.exec", event[:us].exec / 1000.0, **tags) if run?(event)
      count("worker.#{event[:outcome]}", code: bounded(event), **tags) unless event[:ok]
    end

    def run?(event) = event[:ok] || Errors.kind_of(event[:code]).ran != "no"

    # The code as a tag: of a task at most as many as its counts have.
    def bounded(event)
      code = event[:code]
      return code if code.nil? || ERROR_TABLE.key?(code)

      @lock.synchronize { (@counts[event[:task]] ||= Counts.new).count("failed", code) }
    end

    def add(line, tags)
      line += "|##{tags.map { |key, value| "#{key}:#{value.to_s.tr(":|,#@\n", '_')}" }.join(',')}" unless tags.empty?
      @lock.synchronize do
        send_lines if @size + line.bytesize > MAX_PACKET
        @lines << line
        @size += line.bytesize + 1
        send_soon unless @sending_in == Process.pid
      end
    end

    # There may be no further line for long, so this waits for none.
    def send_soon
      @sending_in = Process.pid
      Thread.new do
        sleep(FLUSH_S)
        @lock.synchronize do
          @sending_in = nil
          send_lines
        end
      end
    end

    def send_lines
      lines, @lines, @size = @lines, [], 0
      return if lines.empty?

      @socket ||= UDPSocket.new(Addrinfo.udp(*@address).afamily).tap { |socket| socket.connect(*@address) }
      @socket.send(lines.join("\n"), 0)
    rescue SystemCallError, SocketError
      nil
    end
  end
end
