# frozen_string_literal: true

require_relative "../hub/arguments"
require_relative "inline_hub"

module Pshub
  # For RSpec: RSpec.configure { |config| config.include Pshub::RSpecHelpers }
  #
  #   expect(hub).to have_enqueued("send_mail:1.0").with(to: "ada@example.com")
  module RSpecHelpers
    # What RSpec calls a matcher, and asks by these names.
    class HaveEnqueued
      def initialize(task)
        @task = task
        @args = nil
      end

      # With these arguments; matchers may be in them.
      def with(args)
        @args = args
        self
      end

      def matches?(hub)
        hub.expect_enqueued(@task, @args)
        true
      rescue InlineHub::NotEnqueuedAsExpected => e
        @why = e.message
        false
      end

      def failure_message = @why
      def failure_message_when_negated = "#{description}, and should not have"
      def description = "have enqueued #{Arguments.name_of(@task)}#{" with #{@args.inspect}" if @args}"
    end

    # A hub that runs these tasks in the example; further options are those of InlineHub.
    def inline_hub(*tasks, **options) = InlineHub.new(*tasks, **options)

    # Matchers are named so in RSpec.
    def have_enqueued(task) = HaveEnqueued.new(task) # rubocop:disable Naming/PredicateName
  end
end
