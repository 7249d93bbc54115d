# frozen_string_literal: true

require_relative "../hub/arguments"
require_relative "enqueued"
require_relative "in_memory"

module Pshub
  # For RSpec: RSpec.configure { |config| config.include Pshub::RSpecHelpers }
  #
  #   expect(kit).to have_enqueued("send_mail:1.0").with(to: "ada@example.com")
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

      def matches?(kit)
        kit.expect_enqueued(@task, @args)
        true
      rescue NotEnqueuedAsExpected => e
        @why = e.message
        false
      end

      def failure_message = @why
      def failure_message_when_negated = "#{description}, and should not have"
      def description = "have enqueued #{Arguments.name_of(@task)}#{" with #{@args.inspect}" if @args}"
    end

    # Kits end with their example.
    def self.included(group) = group.after { @pshub_kits&.each(&:close) }

    # A kit with these tasks; further options are those of InMemory.
    def in_memory(*tasks, **options)
      InMemory.new(*tasks, **options).tap { |kit| (@pshub_kits ||= []) << kit }
    end

    # Matchers are named so in RSpec.
    def have_enqueued(task) = HaveEnqueued.new(task) # rubocop:disable Naming/PredicateName
  end
end
