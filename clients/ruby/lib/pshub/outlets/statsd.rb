# frozen_string_literal: true

require_relative "../figures/task_stats"
require_relative "../wire/errors"
require_relative "metrics"
require_relative "statsd_socket"

module Pshub
  # Metrics over plain UDP, with the names and tags of all languages. Lines are collected into packets, for half a second at the most;
  # a daemon that is away fails nothing.
  class StatsD
    MAX_PACKET = 1400
    FLUSH_S = 0.5
    CLOSE_PATIENCE_S = 1.0
    # Each of these events is one more of its metric.
    COUNTED = {
      "call:retried" => "call.retried", "reply:late" => "call.late_reply", "request:malformed" => "worker.malformed",
      "request:redelivered" => "worker.redelivered", "task:elsewhere" => "worker.task_elsewhere", "job:putoff" => "job.put_off",
      "job:dead" => "job.dead", "schedule:tick" => "job.schedule"
    }.freeze

    @workers = 0
    @counting = Mutex.new

    class << self
      # nil without an address. +name+ is that of the hub or worker.
      def watch(events, address, name) = address && new(address, name).tap { |client| client.listen(events) }

      # How many of this process have had gauges of their own, with this one, to tell them apart.
      def one_more_worker = @counting.synchronize { @workers += 1 }
    end

    def initialize(address, name)
      host, _, port = address.rpartition(":")
      @socket = StatsdSocket.new(host, port.to_i)
      @name = name
      @lock = Mutex.new
      # By task.
      @counts = {}
      reset
    end

    def timing(metric, milliseconds, tags = {}) = add(metric, milliseconds, tags)
    def count(metric, tags = {}, by = 1) = add(metric, by, tags)
    def gauge(metric, value, tags = {}) = add(metric, value, tags)

    # Sends what there is; takes a moment where the daemon's address is not known yet.
    def close
      here { send_lines }
      @socket.finish(CLOSE_PATIENCE_S)
    end

    def listen(events)
      COUNTED.each { |event, metric| events.on(event) { |told| count(metric, told) } }
      events.on("call:settled") { |event| call_settled(event) }
      events.on("task:settled") { |event| task_settled(event) }
      events.on("job:retried") { |event| count("job.retried", { **event, code: bounded(event) }) }
      events.on("jobs:enqueued") { |event| count("job.enqueued", event, event[:count]) if event[:count].positive? }
      events.on("worker:lost") { |event| count("worker.adopted", event, event[:adopted]) if event[:adopted].positive? }
      listen_to_queues(events)
      events.on("worker:beat") { |event| gauges(event, event[:slots], event[:busy]) }
      # A daemon repeats a gauge until it hears another one.
      events.on("worker:stopped") { |event| gauges(event, 0, 0) }
    end

    private

    # Without the task: what was pushed by hand may name anything.
    def listen_to_queues(events)
      events.on("request:unserved") { |event| count("worker.rejected", event.slice(:queue, :code)) }
      events.on("request:expired") { |event| count("worker.rejected", { queue: event[:queue], code: "Expired" }) }
      events.on("claim:taken") do |event|
        count("worker.rejected", { queue: event[:queue], code: "Expired" }, event[:expired]) if event[:expired].positive?
      end
    end

    def call_settled(event)
      # Without the name of what does not exist: it may be anything, each time another one.
      tags = { task: event[:code] == "NoSuchTask" ? nil : event[:task], code: bounded(event) }
      count("call.#{event[:outcome]}", tags)
      timing("call.time", event[:ms], tags) if run?(event)
    end

    def task_settled(event)
      tags = { **event.slice(:queue, :task), code: bounded(event) }
      us = event[:us]
      timing("queue.backlog_wait", us.backlog / 1000.0, tags)
      timing("worker.queue_wait", us.queue / 1000.0, tags)
      timing("job.key_wait", event[:key_us] / 1000.0, tags) if event[:key_us]
      count("worker.#{event[:outcome]}", tags) unless event[:outcome] == "ok"
      return unless run?(event)

      timing("job.lateness", (us.backlog + us.queue) / 1000.0, tags) if event[:is_job]
      timing("worker.exec", us.exec / 1000.0, tags)
    end

    def gauges(event, slots, busy)
      tags = { queue: event[:queue], worker: worker_tag }
      gauge("worker.slots", slots, tags)
      gauge("worker.busy", busy, tags)
    end

    def worker_tag
      @worker_tag ||= begin
        number = StatsD.one_more_worker
        "#{@name}-#{Process.pid}#{"-#{number}" if number > 1}"
      end
    end

    def run?(event) = event[:code].nil? || Errors.kind_of(event[:code]).ran != "no"

    # The code as a tag: of a task at most as many as its counts have.
    def bounded(event)
      code = event[:code]
      return code if code.nil? || ERROR_TABLE.key?(code)

      @lock.synchronize { (@counts[event[:task]] ||= Counts.new).count("failed", code) }
    end

    def add(metric, value, tags)
      line = MetricLine.of(metric, value, tags, @name)
      here do
        send_lines if @size + line.bytesize > MAX_PACKET
        @lines << line
        @size += line.bytesize + 1
        send_soon unless @due
      end
    end

    # What was collected before a fork is the parent's to send.
    def here
      @lock.synchronize do
        unless @pid == Process.pid
          @socket.forked
          reset
        end
        yield
      end
    end

    def reset
      @pid = Process.pid
      @lines = []
      @size = 0
      @due = false
    end

    # There may be no further line for long, so this waits for none.
    def send_soon
      @due = true
      @socket.open
      Thread.new do
        sleep(FLUSH_S)
        @lock.synchronize do
          @due = false
          send_lines
        end
      end
    end

    def send_lines
      lines, @lines, @size = @lines, [], 0
      @socket.push(lines.join("\n")) unless lines.empty?
    end
  end
end
