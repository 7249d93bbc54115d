# frozen_string_literal: true

require_relative "../wire/deadlines"

module Pshub
  # The threads on which the handlers of a worker run, whatever place their requests came from, and what watches their deadlines.
  class SlotThreads
    # A handler that computes gives the threads that talk to Redis a turn after some 25 ms instead of 100.
    PRIORITY = -2

    attr_reader :deadlines

    def initialize(slots)
      @slots = slots
      @deadlines = Deadlines.new
      @lock = Mutex.new
      @work = Thread::Queue.new
      @threads = 0
      # Threads that run something, also what was given up.
      @occupied = 0
    end

    def start = @deadlines.start
    def ended? = @deadlines.ended?

    # On one of them +run+ is told to #execute, and then, when its thread is free for others, to #conclude what came of that.
    def run(run)
      @lock.synchronize do
        @occupied += 1
        add_thread if @occupied > @threads
      end
      @work << run
    end

    # Threads end when they have nothing to do; those whose handlers never return end with the process.
    def stop
      @deadlines.stop
      @lock.synchronize { @threads.times { @work << nil } }
    end

    private

    def add_thread
      @threads += 1
      Thread.new do
        Thread.current.name = "pshub-slot"
        Thread.current.priority = PRIORITY
        while (run = @work.pop)
          serve(run)
          # The next wait may be long, and arguments large.
          run = nil
        end
      end
    end

    def serve(run)
      execution = run.execute
      @lock.synchronize do
        @occupied -= 1
        if @threads > @slots
          # One more than slots, made while a handler was given up that has returned after all.
          @threads -= 1
          @work << nil
        end
      end
      run.conclude(execution)
    end
  end
end
