# frozen_string_literal: true

require_relative "../task/task"
require_relative "../wire/times"
require_relative "shared_hub"

module Pshub
  # Active Job on pshub: each job class is a task of its own, active_job/<class>:1.0, so that pages, figures and failures name it.
  # An option of a class stands in its +pshub_options+: those of Hub#enqueue, and +job_timeout_ms+.
  module ActiveJobs
    OF_TASK = %i[job_timeout_ms].freeze
    # Active Job decides about retries, with retry_on and discard_on: what it raises in the end is dead.
    DEFAULTS = { retries: 0 }.freeze

    module_function

    def task_name(class_name) = "active_job/#{class_name.underscore}:1.0"

    # The tasks of a worker: one for each class that was loaded and has a +perform+.
    def tasks
      require "active_job"
      require "active_support/core_ext/class/subclasses"
      # Its own says that there is none.
      without = ::ActiveJob::Base.instance_method(:perform)
      classes = ::ActiveJob::Base.descendants.select { |each| each.name && each.instance_method(:perform).owner != without.owner }
      classes.sort_by(&:name).map { |each| task_of(each) }
    end

    def task_of(job_class)
      handler = proc do |job, ctx|
        # Runs that pshub began before this one, as when a worker died, count too.
        again = { "provider_job_id" => ctx.id, "executions" => job["executions"].to_i + ctx.attempt - 1 }
        ::ActiveJob::Base.execute({ **job, **again })
        nil
      end
      options = job_class.pshub_options.slice(*OF_TASK)
      Task.new(task_name(job_class.name), nil, nil, "Active Job `#{job_class.name}`", Task::DEFAULT_TIMEOUT_S, false, handler, **options)
    end

    # What Hub#enqueue_many takes of a job. +timestamp+: seconds since 1970, or nil.
    def entry(job, timestamp)
      own = job.class.pshub_options.reject { |name, _| OF_TASK.include?(name) }
      # Whatever is long past is due at once. The hub takes so early a number for seconds.
      at = timestamp && { at: [(timestamp.to_f * 1000).ceil, Times::EARLIEST_MS].max }
      [task_name(job.class.name), job.serialize, { **DEFAULTS, queue: job.queue_name, **priority_of(job), **at.to_h, **own }]
    end

    # Active Job's smaller numbers go first; pshub has three places.
    def priority_of(job)
      case job.priority.to_i
      when 0 then {}
      when ..-1 then { priority: "high" }
      else { priority: "low" }
      end
    end
  end

  # <tt>config.active_job.queue_adapter = :pshub</tt>. It raises the HubError of Hub#enqueue when a job could not be enqueued.
  class ActiveJobAdapter
    # Active Job 7.2 asks: a job of a transaction that is rolled back is not enqueued.
    def enqueue_after_transaction_commit? = true
    # Active Job 8.1 asks, of jobs that can be continued.
    def stopping? = false

    def enqueue(job) = enqueue_at(job, nil)

    def enqueue_at(job, timestamp)
      task, args, options = ActiveJobs.entry(job, timestamp)
      job.provider_job_id = SharedHub.hub.enqueue(task, args, **options).id
    end

    # Of perform_all_later, since Active Job 7.1. Returns how many were enqueued.
    def enqueue_all(jobs)
      entries = jobs.map { |job| ActiveJobs.entry(job, job.scheduled_at) }
      # It is said once for all of them.
      durable = entries.map { |_, _, options| options.delete(:durable) }.compact.first
      SharedHub.hub.enqueue_many(entries, durable: durable).ids.zip(jobs) do |id, job|
        job.provider_job_id = id
        job.successfully_enqueued = true
      end
      jobs.size
    end
  end
end
