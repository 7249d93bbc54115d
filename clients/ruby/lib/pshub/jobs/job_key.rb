# frozen_string_literal: true

require "json"
require_relative "../wire/errors"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/message"
require_relative "../wire/payload"
require_relative "dead_jobs"

module Pshub
  # A key of jobs, with its waiting jobs or payloads.
  #
  # +task+:: name:version
  # +state+:: +running+; +due+: next to run; +later+: scheduled; +empty+: nothing waits or runs
  # +due_ms+:: since when it is due, or when it will be, Redis milliseconds; nil if neither
  # +run+:: its running job, a KeyRun, or nil
  # +waiting+:: how many jobs, or payloads, wait
  # +payloads+:: the first hundred waiting KeyPayloads, for a task that merges its jobs
  # +jobs+:: the first twenty waiting KeyJobs
  # +tries+:: how often its runs, or its first job, failed so far
  # +errors+:: the last ten failures, oldest first: hashes with +at+ (Redis milliseconds), +code+ and +message+
  KeyStatus = Struct.new(:queue, :task, :key, :state, :due_ms, :run, :waiting, :payloads, :jobs, :tries, :errors, keyword_init: true)
  # Its token, the id of its worker, since when it runs, Redis milliseconds, and the id of its job.
  KeyRun = Struct.new(:fence, :worker, :since_ms, :id)
  KeyPayload = Struct.new(:args, :score)
  KeyJob = Struct.new(:id, :args, :tries, :enqueued_ms)

  # A key of the jobs of one task.
  class JobKey
    MOST_PAYLOADS = 100
    MOST_JOBS = 20
    MOST_DEAD = 1000
    # <fence> <worker> <job id>
    RUNNING = /\A([0-9]{1,16}) ([A-Za-z0-9_-]+) ([A-Za-z0-9_-]+)\z/
    NUMBER = /\A[0-9]{1,16}\z/

    attr_reader :queue, :task, :key

    def initialize(host, queue, task, key)
      @host = host
      @job_queue = host.queue_of(queue)
      @dead = DeadJobs.new(host, Keys.whole_queue(queue))
      @queue = queue
      @task = task
      @key = key
    end

    # A KeyStatus, from several reads. Raises NotEnqueued when Redis is unreachable, HubClosed.
    def status
      parts = @host.ask { |connection| @job_queue.key_parts(connection, @task, @key, MOST_JOBS, MOST_PAYLOADS) }
      jobs = (parts.line || []).filter_map { |text| request_of(text) }
      run, due_us = run_of(parts.running), number(parts.due)
      state = (run && "running") || (due_us && "due") || (parts.later && "later") || "empty"
      KeyStatus.new(
        queue: @queue, task: @task, key: @key, state: state, due_ms: due_us ? due_us / 1000 : number(parts.later), run: run,
        waiting: (parts.line_length || 0) + (parts.merged_count || 0), payloads: payloads_of(parts.merged || []),
        jobs: jobs.map { |job| job_of(job) }, **failures_of(parts.tried, jobs.first)
      )
    end

    # Makes the waiting jobs due: they run as soon as a slot is idle. A running job keeps running. Returns how many jobs, or payloads,
    # wait. Raises as #status.
    def run_now = act("run")

    # Skips the first job, or the payload with the lowest score: it becomes dead, and the next one is due. Pass the +id+ of the job or the
    # +score+ of the payload, from #status, so that repeating a skip with an unknown outcome does not skip another one. Returns whether it
    # was found and skipped. Raises InvalidArgs while the key runs, and for a job that a batch of another queue waits for; else as
    # #status.
    def skip(id: nil, score: nil)
      count = act("skip", (id || score).to_s)
      what = "#{@task}, key #{Payload.compact(@key)}: nothing is skipped"
      raise InvalidArgs.new("#{what}, because it is running now. Wait until the run ends.", task: @task) if count == -1
      return count.positive? unless count == -2

      raise InvalidArgs.new("#{what}, because a batch of another queue waits for its first job. Cancel that job.", task: @task)
    end

    # Deletes the waiting payloads of a task that merges its jobs. To cancel ordered jobs, use Job#cancel. Returns how many. Raises as
    # #status.
    def delete = act("delete")

    # Its latest dead jobs, or payloads, at most a thousand DeadJobs. Raises as #status.
    def dead = @dead.list(limit: MOST_DEAD, task: @task, key: @key)

    # Retries its dead jobs, or payloads. Returns how many. Raises as #status.
    def retry_dead = @dead.retry(task: @task, key: @key)

    private

    def act(what, named = "") = @host.change { |connection| @job_queue.act_on_key(connection, @task, @key, what, named) }
    def number(text) = (text.to_i if text&.match?(NUMBER))

    # A token is the time of its run, or follows that closely.
    def run_of(text)
      found = text && RUNNING.match(Payload.utf8(text).scrub) or return nil
      KeyRun.new(found[1].to_i, found[2], found[1].to_i / 1000, found[3])
    end

    # nil for what is no job.
    def request_of(text)
      Message.decode_request(text, "", @host.keys)
    rescue Message::Malformed
      nil
    end

    def job_of(request)
      KeyJob.new(request.id, request.args, (request.job || {}).fetch("tries", 0), request.at_us && (request.at_us / 1000))
    end

    def payloads_of(flat)
      flat.each_slice(2).map { |text, score| KeyPayload.new(read(Payload.utf8(text)), score.to_f) }
    end

    # What is no JSON that can be used is a text.
    def read(text)
      Payload.decode(text)
    rescue Payload::Problem
      text.scrub
    end

    # Of merged jobs the key itself has failed; in a line its first job.
    def failures_of(tried, first)
      part = tried ? JobPart.read(JSON.parse(Payload.utf8(tried).scrub, create_additions: false)) : first&.job || {}
      { tries: part.fetch("tries", 0), errors: part.fetch("errors", []) }
    rescue JSON::JSONError
      # Somebody else's: as good as none.
      failures_of(nil, first)
    end
  end
end
