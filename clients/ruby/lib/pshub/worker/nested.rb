# frozen_string_literal: true

require_relative "../hub/dispatch"

module Pshub
  # Calls that handlers make to other tasks. Their connections are only made by the first one.
  class NestedCalls
    def initialize(settings, events)
      @settings = settings
      @events = events
      @lock = Mutex.new
    end

    # Callers see the queue's name.
    def call(called, args, timeout_s, trace, queue)
      dispatch = @lock.synchronize { @dispatch ||= Dispatch.new(@settings, @events, name: @settings.queue).start }
      dispatch.submit(called, args, timeout_s, trace, queue)
    end

    def close = @lock.synchronize { @dispatch }&.close
  end
end
