# frozen_string_literal: true

require_relative "../jobs/batch"
require_relative "../jobs/enqueue_options"
require_relative "../jobs/job"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"

module Pshub
  # Chains and batches of jobs.
  module Flows
    MOST_STEPS = 100
    # Opening and closing a batch may be repeated; for this long it is.
    INSIST_S = 30.0
    RETRY_S = 0.1

    module_function

    # Each step travels in the message of the one before it.
    def chain(enqueuing, host, entries, options)
      unless entries.is_a?(Array) && entries.size.between?(1, MOST_STEPS)
        raise InvalidArgs, "A chain is an array of 1 to #{MOST_STEPS} steps."
      end

      passed = entries.each_with_index.map { |entry, place| pass_of(entry, place) }
      bare = entries.map { |entry| entry.is_a?(Array) && entry[2].is_a?(Hash) ? without_pass(*entry) : entry }
      steps = enqueuing.prepare(bare, EnqueueOptions.combined({ tracked: true }, options)) { |place| passed[place].nil? }
      # Those that come later come to the queue's own place: who knows which shards there are then.
      enqueuing.placement.spread(steps.first(1))
      id = Ids.make
      where = steps.map { |step| [step.queue, step.task] }
      steps.each_with_index do |step, place|
        step.id = Chain.step_id(id, place)
        step.job = { **(step.job || {}), "chain" => id, "step" => place + 1, "steps" => where }
        step.pass = passed[place]
      end
      enqueuing.send_all(steps.first(1), [enqueuing.message_of(steps)], options)
      Chain.new(host, id, where)
    end

    # What is passed makes arguments of none.
    def without_pass(task, args, own) = [task, args.nil? && own[:pass] ? {} : args, own.except(:pass)]

    # The field of its arguments that gets the result of the step before it; nil for none.
    def pass_of(entry, place)
      _, args, own = entry if entry.is_a?(Array)
      pass = own[:pass] if own.is_a?(Hash)
      return nil if pass.nil?

      what = if place.zero? then "no step comes before the first one, so it cannot have pass"
             elsif !(pass.is_a?(String) || pass.is_a?(Symbol)) || ["", "__proto__"].include?(pass.to_s)
               "pass must be the name of a field"
             elsif !(args.nil? || args.is_a?(Hash)) then "a result can only be passed to arguments that are a hash"
             end
      raise InvalidArgs.new("Entry #{place} of the chain: #{what}.", data: { "index" => place }) if what

      pass.to_s
    end

    # The batch is there before its first job, and is closed behind its last one: so none of them can end unnoticed.
    def batch(enqueuing, host, entries, options, after, failed)
      after, failed = [after, failed].map { |entry| entry && enqueuing.prepare([entry], { queue: options[:queue], tracked: true }).first }
      if after && failed && after.queue != failed.queue
        raise InvalidArgs, "The jobs that follow a batch must all be in one queue."
      end

      steps = enqueuing.prepare(entries, options)
      if steps.any? { |step| step.job&.key?("merged") }
        raise InvalidArgs, "A merged job cannot be one of a batch: it has no end of its own."
      end

      home = [after, failed, steps.first].compact.map(&:queue).first
      raise InvalidArgs, "A batch needs at least one job, in it or after it." unless home

      id = Ids.make
      # It is counted in the queue's own place, which goes on being served whatever becomes of shards.
      enqueuing.placement.spread(steps)
      steps.each { |step| step.job = { **(step.job || {}), "batch" => "#{home}/#{id}" } }
      ids = send_batch(enqueuing, host, steps, options, id, home, after, failed)
      jobs = [after, failed].map { |step| step && Job.new(host, step.id, home, step.task, to_come: true) }
      Batch.new(host, id, home, ids, *jobs)
    end

    def send_batch(enqueuing, host, steps, options, id, home, after, failed)
      queue = host.queue_of(home)
      behind = [after, failed].map { |step| step ? enqueuing.message_of([step]) : "" }
      until_known(host, false) { |connection| queue.open_batch(connection, id, *behind) }
      ids, = enqueuing.send_all(steps, steps.map { |step| enqueuing.message_of([step]) }, options).to_a
      until_known(host, true) { |connection| queue.close_batch(connection, id, ids.uniq.size) }
      ids
    end

    # Repeats a step of a batch until its outcome is known. +begun+: jobs of it run already, so that what did not reach Redis is repeated, too.
    # Raises OutcomeUnknown after 30 s, NotEnqueued when nothing was done, HubClosed.
    def until_known(host, begun, &act)
      finish = Clock.now + INSIST_S
      doubt = begun
      begin
        host.change(&act)
      rescue OutcomeUnknown, NotEnqueued => e
        doubt ||= e.is_a?(OutcomeUnknown)
        raise unless doubt
        raise OutcomeUnknown, "The batch was enqueued only in part: #{e.message}" if Clock.now > finish

        sleep RETRY_S
        retry
      end
    end
  end
end
