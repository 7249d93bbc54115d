# frozen_string_literal: true

require_relative "../wire/payload"

module Pshub
  # A metric as a StatsD daemon gets it. Timings are milliseconds. +tags+ are in the order in which a line has them.
  Metric = Struct.new(:name, :type, :tags)

  # Every metric there is; nobody else writes a name. clients/vectors/statsd.json has the same table, and those of the npm package alone.
  METRICS = [
    %w[call.time timing task], %w[call.ok counter task], %w[call.failed counter task code], %w[call.rejected counter task code],
    %w[call.retried counter task code], %w[call.late_reply counter],
    %w[queue.backlog_wait timing queue task], %w[worker.queue_wait timing queue task], %w[worker.exec timing queue task],
    %w[worker.failed counter queue task code], %w[worker.rejected counter queue task code], %w[worker.malformed counter queue],
    %w[worker.task_elsewhere counter queue task], %w[worker.adopted counter queue], %w[worker.redelivered counter queue task],
    %w[job.lateness timing queue task], %w[job.key_wait timing queue task], %w[job.enqueued counter queue],
    %w[job.retried counter queue task code], %w[job.put_off counter queue task], %w[job.dead counter queue task],
    %w[job.schedule counter queue task], %w[worker.busy gauge queue worker], %w[worker.slots gauge queue worker]
  ].to_h { |name, type, *tags| [name, Metric.new(name, type, tags.map(&:to_sym))] }.freeze

  # A metric with its tags, as DogStatsD reads them.
  module MetricLine
    TYPES = { "timing" => "ms", "counter" => "c", "gauge" => "g" }.freeze
    # What ends a tag, a line or a field; a colon may stay.
    UNSAFE = /[|,#@\p{Cc}\p{Z}]/

    module_function

    # +details+ are those of an event, of which a metric takes its tags. +name+ is that of the hub or worker.
    def of(metric, value, details, name)
      known = METRICS.fetch(metric)
      tags = { **known.tags.to_h { |tag| [tag, details[tag]] }.compact, name: name }
      shown = tags.map { |tag, each| "#{tag}:#{Payload.utf8(each).scrub.gsub(UNSAFE, '_')}" }
      "pshub.#{metric}:#{number(value)}|#{TYPES.fetch(known.type)}|##{shown.join(',')}"
    end

    # Microseconds are all that there is to tell.
    def number(value)
      rounded = (value * 1000).round / 1000r
      rounded.denominator == 1 ? rounded.to_i : rounded.to_f
    end
  end
end
