# frozen_string_literal: true

require "logger"
require "time"
require_relative "../redis/refusals"
require_relative "../wire/errors"

# Synchronous RPC over Redis: what the whole program shares.
module Pshub
  class << self
    # Where log lines go; any logger of the standard library's kind. Default: warnings and worse to stderr.
    attr_writer :logger

    def logger
      @logger ||= Logger.new($stderr, level: Logger::WARN, progname: "pshub")
    end
  end

  # Log lines of what happens. No payload is ever in one.
  module Log
    # Level and text of the lines that say no more than their event; the same as in the other languages (clients/vectors/advice.json).
    LINES = {
      "call:settled" => [:debug, "call settled"],
      "call:retried" => [:debug, "retrying a failed call"],
      "request:expired" => [:debug, "request expired before it started"],
      "request:redelivered" => [:debug, "worker lost; another worker will run the request"],
      "jobs:enqueued" => [:debug, "jobs enqueued"],
      "schedule:tick" => [:debug, "schedule is due"],
      "job:putoff" => [:debug, "job delayed: it cannot run now"],
      "job:retried" => [:info, "job failed; it will be retried"],
      "reply:late" => [:info, "late reply: its call had already ended"],
      "worker:started" => [:info, "worker started"],
      "worker:stopped" => [:info, "worker stopped"],
      "queue:paused" => [:info, "queue paused; running requests finish, no new ones are claimed"],
      "queue:resumed" => [:info, "queue resumed"],
      "redis:up" => [:info, "connected to Redis"],
      "schema:unused" => [:warn, "a schema from the registry cannot be checked here; only the worker checks it"],
      "registry:unreadable" => [:warn, "ignoring an unreadable record in Redis"],
      "task:conflict" => [:warn, "live workers declare this task with different schemas"],
      "request:malformed" => [:warn, "dropped a list entry that is not a request"],
      "request:handedback" => [:warn, "returned to the queue: only another worker has this task"],
      "lease:lost" => [:warn, "lease expired; continuing under a new worker id"],
      "worker:lost" => [:warn, "worker lost; took over its requests"],
      "request:unserved" => [:error, "ended a request without a deadline: no worker of this queue provides its task"],
      "job:dead" => [:error, "job is dead; to list dead jobs: pshub dead"],
      "problem" => [:error, "problem"]
    }.freeze

    module_function

    # Turns events into log lines; the one place that words them.
    def watch(events)
      LINES.each do |name, (level, message)|
        # Nearly nobody looks at these, and a listener costs each call something.
        events.on(name) { |event| write(level, message, event.compact) } unless level == :debug && !Pshub.logger.debug?
      end
      events.on("task:elsewhere") { |event| task_elsewhere(event) }
      events.on("task:settled") { |event| task_settled(event) unless event[:ok] }
      events.on("redis:down") { |event| redis_down(event) }
    end

    def task_elsewhere(event)
      message = "Task #{event[:task]} is also served in queue #{event[:first]}, which had it first: calls go there while it has " \
                "live workers. To reach this worker, callers must pass queue #{event[:queue]}."
      write(:warn, message, event)
    end

    def task_settled(event)
      fields = event.slice(:task, :queue, :id, :code).merge(reason: reason_of(event))
      own = Errors.own_kind?(event[:code])
      # By its handler, which is no fault; or for arguments that do not fit.
      return write(own ? :info : :warn, "task rejected", fields) if event[:outcome] == "rejected"

      # Where a handler failed is for its authors, who read this log; callers never see it.
      write(:warn, "task failed", fields, own ? event[:raised] : nil)
    end

    # In words that are not the payload's: what a handler says is its author's choice, keys of arguments and results are not.
    def reason_of(event)
      problems = event[:problems]
      return event[:message] if problems.nil? || problems.empty?

      problems.first(5).map { |each| each["message"].sub(/\Anot JSON: .*/m, "not JSON") }.uniq.join("; ")
    end

    def redis_down(event)
      fields = { **event, reason: Refusals.explained(event[:reason]) }
      return write(:error, "Redis denies access; reconnecting", fields) if Refusals.about_rights?(event[:reason])

      write(:warn, "lost the connection to Redis; reconnecting", fields)
    end

    def write(level, message, fields, raised = nil)
      Pshub.logger.public_send(level) { Line.new(message, fields, raised) }
    end

    # A message with fields; any formatter shows it, the one of JSON lines as such.
    class Line
      attr_reader :message, :fields, :raised

      def initialize(message, fields, raised)
        @message = message
        @fields = fields
        @raised = raised
      end

      def to_s
        told = fields.map { |name, value| "#{name}=#{value}" }
        [message, *told, *(raised && stack)].join(" ")
      end
      alias inspect to_s

      def stack = raised && "#{raised.class}: #{Errors.message_of(raised)}\n#{(raised.backtrace || []).first(20).join("\n")}"
    end

    # One JSON object per line, as the workers in other languages write them.
    class JsonLines < Logger::Formatter
      def call(severity, time, progname, message)
        line = message.is_a?(Line) ? message : Line.new(message.to_s, {}, nil)
        told = { level: severity.downcase, time: time.utc.iso8601(3), name: progname || "pshub", **line.fields }
        told[:msg] = line.message
        told[:stack] = line.stack if line.raised
        "#{JSON.generate(told)}\n"
      end
    end
  end
end
