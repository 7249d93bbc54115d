# frozen_string_literal: true

require_relative "../wire/clock"

module Pshub
  # The slots of a worker, for all places that it serves. What is counted here, and whatever else concerns what may be claimed, changes inside
  # of #synchronize alone; all methods that do not say otherwise are called there.
  class SlotPool
    # So many may wait for other nodes of a Cluster without being counted as held.
    MOST_STUCK = 1000
    # So many things that are to be done in other queues are held before no more jobs are taken, whose ends ask for more of them.
    MOST_OUTS = 1000

    attr_reader :size
    # Somebody waits for room for a job, in #wait_room.
    attr_writer :room_wanted

    # +job_slots+: the most that run jobs at once.
    def initialize(size, job_slots = 0)
      @size = size
      @job_slots = job_slots
      @lock = Mutex.new
      @changed = Clock.condition
      @room = Clock.condition
      @busy = @busy_jobs = @held = @stuck = @outs = 0
      @room_wanted = false
    end

    def synchronize(&block) = @lock.synchronize(&block)

    # Whether this worker takes jobs at all. To be called anywhere.
    def takes_jobs? = @job_slots.positive?

    # To be called outside.
    def busy = synchronize { @busy }

    # How many requests may be claimed: one for each idle slot, unless three times as many as there are slots are held. That is what a busy
    # worker comes to: what runs, what is answered, and what is on its way to be released. Beyond that Redis refuses releases, or does
    # not answer, and what this worker holds must not grow without an end.
    def idle = [@size - @busy, (3 * @size) - (@held - [@stuck, MOST_STUCK].min)].min

    # How many more jobs may run, as far as slots are idle.
    def room = @outs >= MOST_OUTS ? 0 : [0, [@job_slots - @busy_jobs, idle].min].max

    # So many more are busy, with so many jobs among them; fewer, when they are below 0. The same of what is held, and of what of it is stuck.
    def take(slots, jobs)
      @busy += slots
      @busy_jobs += jobs
    end

    def hold(count) = @held += count
    def stick(count) = @stuck += count
    # What is held beside these, to be done in other queues: as long as one of them cannot be written, all others are served.
    def send_out(count) = @outs += count

    # Waits until something changes, or so many seconds.
    def wait(seconds = nil) = @changed.wait(@lock, seconds)

    # The same for who wants room for a job alone, or is woken.
    def wait_room(seconds = nil) = @room.wait(@lock, seconds)
    def wake_room = @room.broadcast

    def changed
      @changed.broadcast
      @room.broadcast if @room_wanted && room.positive?
    end
  end
end
