# frozen_string_literal: true

require_relative "../hub/arguments"
require_relative "../hub/resolver"
require_relative "../jobs/enqueue_options"
require_relative "../jobs/verdict"
require_relative "../task/task"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/job_part"
require_relative "../wire/message"
require_relative "../wire/names"
require_relative "../wire/payload"
require_relative "inline_job"
require_relative "running"

module Pshub
  # Has what code under test calls of a Hub: +call+, +enqueue+ and +enqueue_many+, with the same checks of names, arguments, results and
  # options, and the same errors. Tasks run in the caller: there is no Redis, no worker, no thread, no deadline.
  #
  #   hub = Pshub::InlineHub.new(SEND_MAIL, RESIZE)
  class InlineHub
    PRIORITIES = { "high" => 0, nil => 1, "low" => 2 }.freeze
    # What needs a Redis: said by name, where a NoMethodError would say less.
    ABSENT = %i[batch cancel_job chain dead gather job key pause resume schedule schedules submit].freeze
    CLOSED = "This hub was closed; make a new one."
    # How expect_enqueued failed.
    class NotEnqueuedAsExpected < StandardError; end

    # +tasks+:: what +task+ made: those that there are
    # +jobs+:: +wait+: they run in #drain; +inline+: within #enqueue, which raises what their block raised
    # +queue+:: in which its tasks are
    # +max_payload_bytes+:: largest arguments and results
    #
    # Raises ConfigError for a task that merges its jobs, and for what is no task.
    def initialize(*tasks, jobs: "wait", queue: "default", max_payload_bytes: 1 << 20)
      raise ConfigError, "jobs must be wait or inline, not #{jobs.inspect}." unless %w[wait inline].include?(jobs.to_s)

      @tasks = tasks.flatten.to_h { |each| [checked(each).full_name, each] }
      @inline = jobs.to_s == "inline"
      @queue = queue
      @max_payload_bytes = max_payload_bytes
      @running = InlineRunning.new(@tasks, max_payload_bytes) { |called, args, **options| call(called, args, **options) }
      @jobs = []
      @ahead_ms = 0
    end

    ABSENT.each do |name|
      define_method(name) do |*, **|
        raise ConfigError, "InlineHub has no #{name}: that happens in Redis. Test it with one."
      end
    end

    # Runs a task, and returns its result or raises its error, as Hub#call. +timeout+ is what Context#remaining begins with.
    def call(task, args = {}, timeout: nil, queue: nil, traceparent: nil, tracestate: nil, on_progress: nil)
      called = Arguments.name_of(task)
      wrong = Arguments.wrong(called, timeout, queue, on_progress)
      raise wrong if wrong

      found = find(called, queue) or raise no_such_task(called)
      text = Arguments.encode(route_of(found), args, @max_payload_bytes)
      body = Message.body(Ids.make, found.full_name, false, text, Message.tail(nil, nil, traceparent, tracestate))
      limit_s = timeout || found.timeout_s
      request = InlineRunning.request_of(Message.stamped("#{now_ms}000", [1, (limit_s * 1000).round].max, body))
      verdict = @running.run(request, limit_s, on_progress)
      raise InlineRunning.error_of(verdict.error, request), cause: verdict.raised if verdict.error

      Payload.decode(verdict.result)
    end

    # Takes a job, as Hub#enqueue. It is run by #drain when it is due; or now, of a hub whose jobs are inline. Returns an InlineJob.
    def enqueue(task, args = {}, **options)
      called = Arguments.name_of(task)
      queue, = EnqueueOptions.place(called, options)
      found = find(called, queue)
      raise no_such_task(called) if found.nil? && [nil, @queue].include?(queue)

      full = found ? found.full_name : called
      text = Arguments.encode(route_of(found, full), Arguments.serialized(task, args), @max_payload_bytes)
      part, ttl_ms = EnqueueOptions.shape(full, text, options, found&.keyed)
      record, twin = put(full, text, part || {}, ttl_ms, queue || @queue)
      run_now(record) if @inline && !twin && found && record.due_ms <= now_ms
      InlineJob.new(record, twin)
    end

    # The same of several: <tt>[task]</tt>, <tt>[task, args]</tt> or <tt>[task, args, options]</tt>.
    def enqueue_many(entries, **options) = entries.map { |task, args, own| enqueue(task, args || {}, **options, **(own || {})) }

    # The jobs that were enqueued so far, of a task (its name without a version is any) or all: the first one first.
    def enqueued(task = nil)
      meant = Arguments.name_of(task)
      jobs = @jobs.map(&:enqueued)
      meant.nil? ? jobs : jobs.select { |job| job.task == meant || job.task.start_with?(meant + (meant.include?(":") ? "." : ":")) }
    end

    # Looks for a job that was enqueued with these arguments, or with any; what has +===+ (a class, a pattern, a matcher) may be in their
    # place, or in that of one of them. Keys of hashes may be symbols. Returns the first one; raises NotEnqueuedAsExpected, which says what there is.
    def expect_enqueued(task, args = nil)
      candidates = enqueued(task)
      found = candidates.find { |job| args.nil? || fits?(args, job.args) }
      return found if found

      there = candidates.map { |job| job.args.inspect }
      there = enqueued.map(&:task) if there.empty?
      wanted = " with #{args.inspect}" unless args.nil?
      lies = there.empty? ? "nothing" : there.join(", ")
      raise NotEnqueuedAsExpected, "No job of #{Arguments.name_of(task)} was enqueued#{wanted}. Enqueued: #{lies}."
    end

    # Runs the jobs that are due, and those that they enqueue, until none is left. One that fails is tried again when that is due, as often and
    # as late as its task says. Returns how many runs there were.
    def drain
      runs = 0
      while (record = first_due)
        run_job(record)
        runs += 1
      end
      runs
    end

    # Moves the clock of the hub on: what is due by then is run by the next #drain.
    def advance(seconds)
      raise ConfigError, "advance takes seconds from 0, not #{seconds.inspect}." unless seconds.is_a?(Numeric) && seconds >= 0

      @ahead_ms += (seconds * 1000).round
    end

    # Milliseconds since 1970 on the clock of this hub.
    def now_ms = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) + @ahead_ms

    # Those that were given up.
    def dead_jobs = @jobs.select { |record| record.state == "dead" }.map { |record| InlineJob.new(record, false) }

    def close = @closed = true

    private

    def checked(task)
      raise ConfigError, "InlineHub is given what task made, not #{task.inspect[0, 80]}." unless task.is_a?(Task)
      raise ConfigError, "#{task.full_name} merges its jobs, which happens in Redis: test it with one." if task.merged?

      task
    end

    def find(called, queue)
      raise HubClosed, CLOSED if @closed

      wanted = Names.parse_called(called)
      raise NoSuchTask, "The task must be a name like my_task:1.0, or what task made." unless wanted
      return nil unless [nil, @queue].include?(queue)

      named = @tasks.values.map { |task| [Names.parse(task.full_name), task] }
      fitting = named.select do |name, _|
        name.name == wanted.name && [nil, name.major].include?(wanted.major) && [nil, name.minor].include?(wanted.minor)
      end
      fitting.min_by { |name, _| Names.newest_first(name) }&.last
    end

    def no_such_task(called)
      known = @tasks.empty? ? "none" : @tasks.keys.join(", ")
      NoSuchTask.new("There is no #{called}. The tasks of this hub: #{known}.", task: called)
    end

    def route_of(task, name = task&.full_name) = Route.new(task: name, schema: task && Checked.new(task))

    # Looks at arguments as a schema does.
    Checked = Struct.new(:task) do
      def problems(args) = task.args_problems(args)
    end
    private_constant :Checked

    # A new job, or the one that is there already, and whether that is so.
    def put(task, args, part, ttl_ms, queue)
      there = part.key?("unique") && @jobs.find do |each|
        !each.over? && each.enqueued.task == task && each.part["unique"] == part["unique"]
      end
      return [there, true] if there

      id = Ids.make
      due_ms = part["due"] || (now_ms + part.fetch("delay", 0))
      text = Message.stamped("#{due_ms}000", ttl_ms, Message.job_body(id, part.empty? ? nil : JobPart.text(part), task, args, "}"))
      enqueued = EnqueuedJob.new(id: id, task: task, args: Payload.decode(args), queue: queue, due_ms: due_ms, key: part["key"])
      @jobs << InlineJob::Record.new(enqueued, part, text, due_ms, ttl_ms.positive? ? due_ms + ttl_ms : nil, "waiting", 0)
      [@jobs.last, false]
    end

    # Of those that are due the first: by priority, and then as they came. Of one key only its first.
    def first_due
      own = @jobs.select { |each| !each.over? && each.enqueued.queue == @queue && @tasks.key?(each.enqueued.task) }
      firsts = own.uniq { |each| each.enqueued.key ? [each.enqueued.task, each.enqueued.key] : each }
      due = firsts.select { |each| each.due_ms <= now_ms && each.state != "running" }
      late, wanted = due.partition { |each| each.tries.zero? && each.ends_ms && each.ends_ms < now_ms }
      late.each { |each| each.state = "expired" }
      wanted.each_with_index.min_by { |each, at| [PRIORITIES[each.part["priority"]], at] }&.first
    end

    def run_now(record)
      verdict = run_job(record)
      raise verdict.raised || record.error if verdict.error
    end

    def run_job(record)
      record.state = "running"
      task = @tasks.fetch(record.enqueued.task)
      request = InlineRunning.request_of(record.text)
      request.job = { **(request.job || {}), "tries" => record.tries } if record.tries.positive?
      verdict = @running.run(request, task.job_timeout_s)
      verdict.error ? failed(record, task, request, verdict) : done(record, verdict)
      verdict
    end

    def done(record, verdict)
      record.state = "done"
      record.result = Payload.decode(verdict.result)
    end

    def failed(record, task, request, verdict)
      record.error = InlineRunning.error_of(verdict.error, request)
      ending = JobVerdict.failed(request, task, verdict.error, verdict.raised)
      record.due_ms = now_ms + ending.delay_ms.to_i
      return record.state = "waiting" if ending.outcome == "putoff"

      record.tries += 1
      record.state = ending.outcome == "dead" ? "dead" : "retrying"
    end

    # A class, a pattern or a range is met as in `case`.
    def fits?(expected, actual)
      return expected === actual unless expected.is_a?(Hash) && actual.is_a?(Hash) # rubocop:disable Style/CaseEquality

      expected.transform_keys(&:to_s).keys.sort == actual.keys.sort && expected.all? { |name, each| fits?(each, actual[name.to_s]) }
    end
  end
end
