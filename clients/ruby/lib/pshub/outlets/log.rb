# frozen_string_literal: true

require "logger"
require "time"
require_relative "../wire/errors"

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
    # Per event: level, message, and what is told of the event.
    LINES = {
      "redis:down" => [:warn, "Redis is away", %i[role reason]],
      "redis:up" => [:info, "connected to Redis", %i[role]],
      "problem" => [:warn, "problem", %i[where reason]],
      "schema:unused" => [:warn, "a schema of the registry is not used", %i[task reason]],
      "task:elsewhere" => [
        :warn, "another queue had this task first: callers go there while it has live workers, and come here only by naming this queue",
        %i[task queue first]
      ],
      "registry:unreadable" => [:warn, "something in Redis cannot be read and counts as absent", %i[key field reason]],
      "task:conflict" => [:warn, "live workers declare the task with different schemas", %i[task queue other]],
      "request:malformed" => [:warn, "a list element that is not a request was dropped", %i[queue reason]],
      "request:handedback" => [:info, "put back for another worker", %i[queue task count]],
      "request:unserved" => [:warn, "no worker takes this task", %i[queue task code answered]],
      "request:expired" => [:debug, "its time was up, so it was not started", %i[queue task id]],
      "job:dead" => [:error, "a job was given up; it is kept with the dead ones", %i[queue task id reason]],
      "schedule:tick" => [:debug, "the time of a schedule came", %i[queue name task tick_ms skipped]],
      "request:redelivered" => [:debug, "its worker was lost; another one will run it", %i[queue task id losses]],
      "worker:started" => [:info, "worker started", %i[worker queue slots tasks]],
      "worker:stopped" => [:info, "worker stopped", %i[worker queue handed_back abandoned]],
      "queue:paused" => [:info, "the queue is paused; what is held is finished, nothing is taken", %i[worker queue paused_ms]],
      "queue:resumed" => [:info, "the queue is served again", %i[worker queue]],
      "worker:lost" => [:warn, "took over from a lost worker", %i[worker queue adopted by]],
      "lease:lost" => [:warn, "the lease was lost; going on under a new id", %i[worker queue aborted]],
      "reply:late" => [:info, "a reply came too late", %i[id]],
      "call:retried" => [:info, "calling again", %i[task id next_id code]]
    }.freeze

    module_function

    def watch(events)
      LINES.each do |name, (level, message, names)|
        events.on(name) { |event| write(level, message, event.slice(*names).compact) }
      end
      events.on("task:settled") do |event|
        next if event[:ok]

        write(:warn, "task failed", event.slice(:task, :id, :code, :message).compact, event[:raised])
      end
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
