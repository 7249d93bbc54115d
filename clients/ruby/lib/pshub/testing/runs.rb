# frozen_string_literal: true

require "monitor"

module Pshub
  # The handlers that run now, in this process.
  class Runs
    # For so long, in real time, a handler is waited for before the clock goes on: it may wait for a disk, or for a sleep of its own.
    PATIENCE_S = 0.1
    # How a run ended: with what it +raised+, or nil.
    End = Struct.new(:raised)

    # How many have ended.
    attr_reader :count

    # The block says how many requests workers have taken whose end they do not know.
    def initialize(&busy)
      @busy = busy
      @lock = Monitor.new
      @changed = @lock.new_cond
      @started_at = {}.compare_by_identity
      # By the id of the request, how its last run ended.
      @ends = {}
      @count = 0
    end

    def running = @started_at.size

    # Some of them began just now, or are on their way between a worker and the thread of its handler: they may end if they are let.
    def may_end?
      now = real_now
      @passing_since = @busy.call > running ? @passing_since || now : nil
      return true if @passing_since && now - @passing_since < PATIENCE_S

      @lock.synchronize { @started_at.values }.any? { |at| now - at < PATIENCE_S }
    end

    # The same task, whose runs are noted here.
    def noted(task)
      runs = self
      task.dup.tap do |noted|
        noted.define_singleton_method(:run) do |args, context|
          value = runs.note(context.id) { |keep| super(args, context).tap { |given| keep.call if given.is_a?(Enumerator) && !merged? } }
          next value unless value.is_a?(Enumerator) && !merged?

          # What it yields is asked for later.
          Enumerator.new { |out| runs.note(context.id) { value.each { |each| out << each } } }
        end
      end
    end

    # How the first run of a request ends, an End, or nil when it has not ended after so long, in real time.
    def end_of(id, timeout_s)
      finish = real_now + timeout_s
      @lock.synchronize do
        @changed.wait(finish - real_now) until @ends[id] || real_now >= finish
        @ends[id]
      end
    end

    # Around a handler. The block is given what says that its run goes on behind it.
    def note(id)
      run, kept, raised = Object.new, false, nil
      @lock.synchronize { @started_at[run] = real_now }
      yield -> { kept = true }
    rescue Exception => e # rubocop:disable Lint/RescueException
      raised = e
      raise
    ensure
      ended(id, run, kept, raised)
    end

    private

    def ended(id, run, kept, raised)
      @lock.synchronize do
        @started_at.delete(run)
        next if kept

        @count += 1
        @ends[id] = End.new(raised)
        @changed.broadcast
      end
    end

    def real_now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
