# frozen_string_literal: true

module Pshub
  # Every key name that pshub uses; nobody else writes one. PROTOCOL.md, section 2.
  class Keys
    ID = /\A[A-Za-z0-9_-]{1,64}\z/
    QUEUE = /\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\z/
    FORWARDER = /\A[A-Za-z0-9][A-Za-z0-9_.-]{0,55}\z/
    SHARD = /\Ashard\.[0-9]{1,6}\.(.+)\z/
    NAMESPACE = /\A[A-Za-z0-9][A-Za-z0-9_.-]{0,31}\z/

    def self.id?(value) = value.is_a?(String) && value.match?(ID)
    def self.queue_name?(value) = value.is_a?(String) && value.match?(QUEUE)
    def self.forwarder_name?(value) = value.is_a?(String) && value.match?(FORWARDER)
    # The queue of the jobs that a forwarder takes out of the hub; and whose queue it is, nil for that of a worker.
    def self.forward_queue(forwarder) = "forward.#{forwarder}"
    def self.forwarder_of(queue) = queue.is_a?(String) && queue.start_with?("forward.") ? queue.delete_prefix("forward.") : nil
    # The queue that something is a shard of; the queue itself where it is none.
    def self.whole_queue(queue) = queue[SHARD, 1] || queue
    def self.shard_of?(name, queue) = queue_name?(name) && name != queue && whole_queue(name) == queue
    def self.namespace?(value) = value.is_a?(String) && value.match?(NAMESPACE)

    # What was given in the place of a name, for people.
    def self.shown(value) = value.is_a?(String) ? "'#{value[0, 80]}'" : value.class.name

    # The keys of one queue. All share its hash tag, so that each function touches one slot of a Cluster.
    class OfQueue
      attr_reader :calls, :bell, :jobs, :jobs_high, :jobs_low, :job_bell, :due_bell, :scheduled, :retries, :dead, :later, :lined, :cron, :ticks,
                  :leases, :cancelled, :reporter, :paused, :shards

      def initialize(base)
        @base = base
        @calls = "#{base}:calls"
        @bell = "#{base}:bell"
        @jobs = "#{base}:jobs"
        @jobs_high = "#{base}:jobs:high"
        @jobs_low = "#{base}:jobs:low"
        @job_bell = "#{base}:jobbell"
        @due_bell = "#{base}:duebell"
        # Jobs that wait for their time, and for their next try.
        @scheduled = "#{base}:scheduled"
        @retries = "#{base}:retries"
        @dead = "#{base}:dead"
        @later = "#{base}:later"
        # How many jobs and keys wait of each task that has keys.
        @lined = "#{base}:lined"
        @cron = "#{base}:cron"
        @ticks = "#{base}:ticks"
        @leases = "#{base}:leases"
        @cancelled = "#{base}:cancelled"
        @reporter = "#{base}:reporter"
        @paused = "#{base}:paused"
        # Over which shards the queue is spread, in the place of each of them.
        @shards = "#{base}:shards"
      end

      def held(worker_id) = "#{@base}:held:#{worker_id}"
      def pushed(hub_id) = "#{@base}:pushed:#{hub_id}"
      def enqueued(hub_id) = "#{@base}:enqueued:#{hub_id}"
      def job(id) = "#{@base}:job:#{id}"
      # How far a job is that runs.
      def progress(id) = "#{@base}:progress:#{id}"
      def batch(id) = "#{@base}:batch:#{id}"
      def came(job_id) = "#{@base}:came:#{job_id}"
      # Jobs of one key that wait in their order, and payloads of one whose jobs are merged.
      def line(task, key) = "#{@base}:line:#{task}:#{key}"
      def merged(task, key) = "#{@base}:merged:#{task}:#{key}"
      # Of the keys of a task: since when they are due, what runs of them, how their runs failed.
      def keys_of(task) = "#{@base}:keys:#{task}"
      def running(task) = "#{@base}:running:#{task}"
      def tried(task) = "#{@base}:tried:#{task}"
    end

    attr_reader :namespace, :tasks, :queues, :workers, :stats, :task_stats, :slow, :failures, :refusing

    def initialize(namespace)
      @namespace = namespace
      @tasks = "#{namespace}:tasks"
      # Queues into which jobs were put by name before anybody declared a task there.
      @queues = "#{namespace}:queues"
      @workers = "#{namespace}:workers"
      @stats = "#{namespace}:stats"
      @task_stats = "#{namespace}:taskstats"
      @slow = "#{namespace}:slow"
      @failures = "#{namespace}:failures"
      # Hubs by when they last wrote what they refused.
      @refusing = "#{namespace}:refusing"
      @reply_list = /\A#{Regexp.escape(namespace)}:reply:\{([A-Za-z0-9_-]{1,64})\}\z/
    end

    def queue(name) = OfQueue.new("#{namespace}:{#{name}}")
    def refused(hub_id) = "#{namespace}:refused:#{hub_id}"
    def reply(hub_id) = "#{namespace}:reply:{#{hub_id}}"
    # How many chunks of a stream its caller has taken.
    def taken(hub_id, id) = "#{namespace}:reply:{#{hub_id}}:taken:#{id}"
    def read(hub_id) = "#{namespace}:reply:{#{hub_id}}:read"

    # The hub whose reply list this is, or nil: a worker never writes to a name that it was handed.
    def hub_id_of(result_queue)
      result_queue[@reply_list, 1] if result_queue.is_a?(String)
    end
  end
end
