# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../redis/library"
require_relative "../wire/answers"
require_relative "../wire/payload"
require_relative "batches"
require_relative "queue"

module Pshub
  # How a job ended that does not only go.
  #
  # +id+:: its held id
  # +outcome+:: +done+, +retry+, +pass+, +putoff+, +dead+, +expired+ or +cancelled+
  # +delay_ms+:: milliseconds from now until a further try
  # +text+:: its result as JSON, or its failure as JobPart.failure_text has it; empty for what was not run
  # +following+:: the job that follows it, without its +at+, behind the name of its queue and a space where that is another one; else
  #               empty
  # +words+:: in the place of the delay, of a run of merged jobs, for each of its keys: <tt>r<ms></tt>, it failed and is tried again after
  #           that; <tt>d<place></tt>, it failed, and its payload of that place, counted from 1, is given up; <tt>x<place></tt>, the same of
  #           one that is no JSON; <tt>b<ms></tt>, it was not run and comes back after that. Else nil
  JobEnd = Struct.new(:id, :outcome, :delay_ms, :text, :following, :words)

  # A schedule whose time has come: +score+ is that time as it is there, which is to be given back, +text+ the entry, nil for none.
  DueSchedule = Struct.new(:name, :score, :tick_ms, :text)

  # A key as it is in Redis: since when it is due (microseconds) and until when it waits (milliseconds), what runs of it and how its runs
  # failed; how many jobs wait in its line, and the first of them; how many payloads do, and the first of them, each with its score.
  KeyParts = Struct.new(:due, :later, :running, :tried, :line_length, :line, :merged_count, :merged)

  # What a queue does for jobs alone, one atomic step each.
  class JobQueue
    # Read at a time.
    DUE_SCHEDULES = 20
    # The same of jobs, each of which may be a megabyte.
    DUE_AT_ONCE = 20
    ID = /\A\{"at":[0-9]+,"ttl":[0-9]+,"id":"([A-Za-z0-9_-]+)"/n
    LATEST_MS = 8.64e15
    # So many jobs are moved in one step when they are due: it takes Redis less than a millisecond.
    DUE_BATCH = 200
    # So many are told of the end of one job; others look again by themselves.
    MAX_WAITERS = 100
    # A job that came from another queue is known for so long, in case the worker that sent it died before it knew.
    CAME_MS = 30 * 24 * 3600 * 1000
    # A batch whose maker died before all its jobs were enqueued is forgotten after this.
    OPEN_BATCH_MS = 24 * 3600 * 1000

    OTHER_SHARDS = -3

    attr_reader :name

    def initialize(name, all_keys)
      @name = name
      @keys = all_keys.queue(name)
      @lists = [@keys.jobs, @keys.job_bell]
    end

    # Puts jobs in, all of them or none. Repeated under the same number it does nothing. The block is called right before it is written.
    def enqueue(connection, hub_id, number, messages, &block)
      args = [number, TaskQueue::PUSH_MEMORY_MS, *messages]
      Enqueued.read(Library.run(connection, "enqueue", [*@lists, @keys.enqueued(hub_id)], args, &block))
    end

    # Puts one job in, as the only batch of a hub that has its id: once, however often it is sent. Returns the id of its twin, if there is one.
    def enqueue_one(connection, id, message)
      twins = enqueue(connection, id, 1, [message]).twins
      connection.one("UNLINK", @keys.enqueued(id))
      twins[0]
    end

    # How many replicas have all that this hub's last batch wrote, as soon as one has, or after +wait_ms+. Redis counts what this connection
    # wrote, and a batch that is repeated on another one writes nothing: hence the write.
    def replicas_of(connection, hub_id, wait_ms)
      key = @keys.enqueued(hub_id)
      Connection.checked(connection.run(["PEXPIRE", key, TaskQueue::PUSH_MEMORY_MS], ["WAIT", 1, wait_ms])).last
    end

    # Moves what is due into its list. Harmless to repeat.
    def move_due(connection) = Moved.read(Library.run(connection, "due", @lists, [DUE_BATCH, Batches::MAX_BYTES]))

    # Ends jobs that this worker holds, each with its leading +at+ in +ats+; of what it holds no more, or holds again since, nothing is changed.
    def settle(connection, worker_id, ends, ats)
      sixes = ends.zip(ats).flat_map do |each, at|
        [each.id, at, each.outcome, each.words&.join(" ") || each.delay_ms.round, each.text, each.following]
      end
      args = [TaskQueue::MAX_DEAD, TaskQueue::DEAD_MS, *sixes]
      SettledJobs.read(Library.run(connection, "settle", [@keys.held(worker_id), *@lists], args), ends)
    end

    # Puts a job in that follows one of another queue, once, however often it is sent: as long as #forget is not called for it.
    def forward(connection, message) = Library.run(connection, "forward", @lists, [CAME_MS, message])
    def forget(connection, id) = connection.one("DEL", @keys.came(id))

    # Removes an entry that has jobs enqueued at its times. Whether there was one.
    def remove_schedule(connection, name) = Library.run(connection, "schedule", [@keys.jobs], [name, "", ""]) == 1

    # Writes an entry in the place of +before+, as that was read; without a time it is paused. False where another one is there by now, and
    # nothing was written.
    def schedule(connection, name, text, next_ms, before)
      Library.run(connection, "schedule", [@keys.jobs], [name, text, next_ms || "", before || ""]) != -1
    end

    # The time of an entry has come: enqueues its job and sets its next time, unless somebody was quicker.
    def tick(connection, due, next_ms, message)
      Library.run(connection, "tick", @lists, [due.name, due.score, next_ms || "", message]) == 1
    end

    # By which its schedules go: the nodes of a Cluster have clocks of their own.
    def now_ms(connection) = connection.at(@keys.ticks).now_ms

    def schedule_text(connection, name) = connection.one("HGET", @keys.cron, name)

    # The next time of a schedule, Redis milliseconds; nil for one that is paused.
    def next_ms_of(connection, name) = connection.one("ZSCORE", @keys.ticks, name)&.then { |score| moment(score) }

    # All entries, and the next times of those that have one, by their names.
    def schedules(connection)
      texts = connection.one("HGETALL", @keys.cron).each_slice(2).to_h { |name, text| [Payload.utf8(name).scrub, text] }
      times = connection.one("ZRANGE", @keys.ticks, 0, -1, "WITHSCORES").each_slice(2)
      [texts, times.to_h { |name, score| [Payload.utf8(name).scrub, moment(score)] }]
    end

    # Entries whose time has come; the first ones, until +now_ms+, but for so many that are left to others.
    def due_schedules(connection, now_ms, left)
      flat = connection.one("ZRANGEBYSCORE", @keys.ticks, "-inf", now_ms, "LIMIT", left, DUE_SCHEDULES, "WITHSCORES").each_slice(2).to_a
      return [] if flat.empty?

      texts = connection.one("HMGET", @keys.cron, *flat.map(&:first))
      flat.zip(texts).map { |(name, score), text| DueSchedule.new(Payload.utf8(name).scrub, score, moment(score), text) }
    end

    # Says why its time was left to others; that is seen until one of them takes it.
    def tell_unkept(connection, due, why) = connection.one("HSET", @keys.cron, "#{due.name}:problem", "#{due.tick_ms} #{why}")

    # When the next one is, Redis milliseconds, behind so many that are left to others; nil for none.
    def next_schedule(connection, left = 0)
      _, score = connection.one("ZRANGE", @keys.ticks, left, left, "WITHSCORES").each_slice(2).first
      score && moment(score)
    end

    def count_dead(connection) = connection.one("ZCARD", @keys.dead)

    # Dead jobs as they lie there and when each was given up, Redis milliseconds; the latest first.
    def dead(connection, first, last)
      connection.one("ZRANGE", @keys.dead, first, last, "REV", "WITHSCORES").each_slice(2).map { |text, score| [text, moment(score)] }
    end

    def delete_dead(connection, texts) = connection.one("ZREM", @keys.dead, *texts)

    # A job that is +scheduled+ or +retrying+ for that time, exactly as it lies there; nil where it does not.
    def lying_at(connection, state, id, at_ms)
      set = state == "scheduled" ? @keys.scheduled : @keys.retries
      0.step(by: DUE_AT_ONCE) do |first|
        texts = connection.one("ZRANGE", set, at_ms, at_ms, "BYSCORE", "LIMIT", first, DUE_AT_ONCE)
        found = texts.find { |text| text[ID, 1] == id }
        return found if found || texts.size < DUE_AT_ONCE
      end
    end

    # Jobs that are dead, or wait for their time or next try, exactly as they lie there, become others that wait to be taken: pairs of texts.
    # Returns how many were there.
    def revive(connection, pairs) = Library.run(connection, "revive", @lists, pairs.flatten)

    # +act+ is +run+: a key is due now; +skip+: what it is stuck at is given up; or +delete+: its payloads go. Returns how many jobs or
    # payloads that concerned; -1 where nothing can be skipped because it runs, -2 where only a worker could.
    def act_on_key(connection, task, key, act, named)
      Library.run(connection, "key", @lists, [task, key, act, TaskQueue::MAX_DEAD, TaskQueue::DEAD_MS, named])
    end

    # Asks whether a job of a key waits in its line or runs: 1 or 0; OTHER_SHARDS where the place knows another epoch of them.
    def has_key_command(task, key, epoch) = Library.command("key", @lists, [task, key, "has", epoch, 0])

    # What is there of a key, as KeyParts; nil for what is of another type. Several reads, one behind the other: a look, and
    # no snapshot.
    def key_parts(connection, task, key, most_jobs, most_payloads)
      line, merged = @keys.line(task, key), @keys.merged(task, key)
      answers = connection.run(
        ["ZSCORE", @keys.keys_of(task), key], ["ZSCORE", @keys.later, "#{task} #{key}"], ["HGET", @keys.running(task), key],
        ["HGET", @keys.tried(task), key], ["LLEN", line], ["LRANGE", line, 0, most_jobs - 1],
        ["ZCARD", merged], ["ZRANGE", merged, 0, most_payloads - 1, "WITHSCORES"]
      )
      read = answers.map { |answer| answer unless answer.is_a?(ReplyError) && answer.code == "WRONGTYPE" }
      KeyParts.new(*Connection.checked(read))
    end

    # What follows a batch whose jobs have all ended: messages without +at+, or empty. All three may be repeated.
    def open_batch(connection, id, after, failed) = batch(connection, [id, "open", after, failed, OPEN_BATCH_MS])
    # All jobs of the batch are enqueued.
    def close_batch(connection, id, total) = batch(connection, [id, "close", total, "", 0])
    # A job of the batch has ended, in another queue.
    def tally(connection, batch_id, id, how) = batch(connection, [batch_id, id, how, "", 0])

    # The record of a batch; empty when there is none.
    def batch_record(connection, id) = connection.one("HGETALL", @keys.batch(id)).each_slice(2).to_h

    # Cancels a tracked job. +to_come+: one that is not there yet, as a later step of a chain, is kept away when it comes. Returns its
    # state as it was, empty when none is known.
    def withdraw(connection, id, to_come: false)
      args = [id, TaskQueue::CANCEL_MEMORY_MS, to_come ? TaskQueue::DEAD_MS : 0]
      Library.run(connection, "withdraw", [@keys.jobs, @keys.cancelled], args)
    end

    # The record of a tracked job, as fields and values in turn. As long as it has not ended the hub is told of that, under this ticket;
    # also where it is to come within +to_come_ms+.
    def await(connection, id, ticket, hub_id, to_come_ms = 0)
      Library.run(connection, "await", [@keys.job(id)], [ticket, hub_id, MAX_WAITERS, to_come_ms.ceil])
    end

    # The same without waiting for anything.
    # Says how far a job is that runs: for so long, unless it is said again.
    def tell_progress(connection, id, progress, lives_ms) = connection.one("SET", @keys.progress(id), progress, "PX", lives_ms)
    def forget_progress(connection, id) = connection.one("DEL", @keys.progress(id))
    # What somebody said of it, unread.
    def progress(connection, id) = connection.one("GET", @keys.progress(id))

    def record(connection, id) = connection.one("HGETALL", @keys.job(id))

    private

    # Milliseconds; also of what others wrote there, as infinity.
    def moment(score)
      return score.start_with?("-") ? 0 : LATEST_MS.to_i if score.include?("inf")

      score.to_f.clamp(0, LATEST_MS).to_i
    end

    def batch(connection, args) = Library.run(connection, "batch", @lists, args)
  end
end
