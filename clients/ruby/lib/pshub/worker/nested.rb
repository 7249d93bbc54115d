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

    # Returns a PendingCall.
    def call(called, args, timeout_s, trace, queue) = dispatch.submit(called, args, timeout_s, trace, queue)

    # A call that cannot be made at all is told as that of any hub. Returns the error.
    def refused(called, error)
      dispatch.rejected(called, nil, error)
      error
    end

    def close = @lock.synchronize { @dispatch }&.close

    private

    # Others see the queue's name.
    def dispatch = @lock.synchronize { @dispatch ||= Dispatch.new(@settings, @events, name: @settings.queue).start }
  end
end
