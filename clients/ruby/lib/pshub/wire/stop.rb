# frozen_string_literal: true

require_relative "clock"
require_relative "times"

module Pshub
  # Set once, never cleared; waited for by any number of threads.
  class Stop
    def initialize
      @lock = Mutex.new
      @changed = Clock.condition
      @set = false
    end

    def set? = @set

    def set
      @lock.synchronize do
        @set = true
        @changed.broadcast
      end
    end

    # Returns after +seconds+ (nil: no limit), or at once when it is set; true when it is.
    def wait(seconds = nil)
      finish = seconds && (Clock.now + Times.seconds(seconds))
      @lock.synchronize do
        until @set
          left = finish && (finish - Clock.now)
          break if left && left <= 0

          @changed.wait(@lock, left)
        end
        @set
      end
    end
  end
end
