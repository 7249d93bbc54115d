# frozen_string_literal: true

require_relative "../hub/arguments"
require_relative "inline_hub"

module Pshub
  # For minitest: include it in a test.
  module MinitestHelpers
    # A hub that runs these tasks in the test; further options are those of InlineHub.
    def inline_hub(*tasks, **options) = InlineHub.new(*tasks, **options)

    # Returns the job.
    def assert_enqueued(hub, task, args = nil)
      job = hub.expect_enqueued(task, args)
      pass
      job
    rescue InlineHub::NotEnqueuedAsExpected => e
      flunk e.message
    end

    def refute_enqueued(hub, task) = assert_empty(hub.enqueued(task), "Jobs of #{Arguments.name_of(task)} were enqueued")
  end
end
