# frozen_string_literal: true

require_relative "../hub/arguments"
require_relative "enqueued"
require_relative "in_memory"

module Pshub
  # For minitest: include it in a test.
  module MinitestHelpers
    # A kit with these tasks, which closes with the test; further options are those of InMemory.
    def in_memory(*tasks, **options)
      InMemory.new(*tasks, **options).tap { |kit| (@pshub_kits ||= []) << kit }
    end

    # Behind the test's own teardown.
    def after_teardown
      @pshub_kits&.each(&:close)
      super
    end

    # Returns the job.
    def assert_enqueued(kit, task, args = nil)
      job = kit.expect_enqueued(task, args)
      pass
      job
    rescue NotEnqueuedAsExpected => e
      flunk e.message
    end

    def refute_enqueued(kit, task) = assert_empty(kit.enqueued(task), "Jobs of #{Arguments.name_of(task)} were enqueued")
  end
end
