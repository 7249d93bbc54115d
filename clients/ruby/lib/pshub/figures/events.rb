# frozen_string_literal: true

module Pshub
  # Everything that can be observed: named events with a hash of details, as in the reference. Listeners run on whatever thread it
  # happens on and must be quick; one that raises hurts nobody.
  class Events
    def initialize
      @listeners = Hash.new { [] }
    end

    # Subscribes. Lists are replaced and never changed: another thread may be going through one.
    def on(*names, &listener)
      names.each { |name| @listeners = @listeners.merge(name => [*@listeners[name], listener]) }
    end

    def any?(name) = @listeners.key?(name)

    def emit(name, **event)
      @listeners[name].each do |listener|
        listener.call(event)
      rescue StandardError
        # A subscriber's fault is its own: it must not fail a call or stop a loop.
        next
      end
    end
  end
end
