# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/failures"
require_relative "../wire/keys"
require_relative "../wire/message"
require_relative "../worker/executor"

module Pshub
  # Runs one request in the caller, as a worker would: with its checks before and after, and its words for what went wrong.
  class InlineRunning
    KEYS = Keys.new("pshub")

    # A handler's nested call, which has ended when it is made.
    Ended = Struct.new(:value, :error) do
      def cancel = nil

      def result
        raise error if error

        value
      end
    end

    # In the place of a worker's threads and their deadlines.
    class Here
      def deadlines = self
      def add(_run) = nil
      def delete(_run) = nil
      def run(run) = run.conclude(run.execute)
    end

    # Nobody reads chunks as they come.
    class Heard
      def initialize = @listeners = {}.compare_by_identity
      def call = self
      def tell(request, progress) = @listeners[request]&.call(progress)

      # +on_progress+ hears how far the run of a request is that the block makes; nil: nobody does.
      def during(request, on_progress)
        @listeners[request] = on_progress
        yield
      ensure
        @listeners.delete(request)
      end

      def open(_request, _context) = nil
    end

    # The block calls a task: with its name, arguments and options.
    def initialize(tasks, max_payload_bytes, &call)
      @call = call
      @executor = Executor.new(tasks, Here.new, max_payload_bytes, self, @heard = Heard.new)
    end

    # A request as it would have been in its list.
    def self.request_of(text) = Message.decode_request(text, nil, KEYS)

    # What a caller is told of a failure.
    def self.error_of(error, request) = Errors.from_wire(Failures.worded(error), task: request.task, id: request.id)

    # Returns an Executor::Verdict.
    def run(request, timeout_s, on_progress = nil)
      verdict = nil
      @heard.during(request, on_progress) do
        @executor.start(request, Clock.now, timeout_s) { |execution| verdict = execution.verdict }
      end
      # What ends the test itself: in a worker it would be a failure of the task.
      raise verdict.raised if verdict.raised && !verdict.raised.is_a?(StandardError)

      verdict
    end

    # As NestedCalls.
    def call(called, args, timeout_s, _trace, queue)
      Ended.new(@call.call(called, args, timeout: timeout_s, queue: queue))
    rescue HubError => e
      Ended.new(nil, e)
    end

    def refused(_called, error) = error
  end
end
