# frozen_string_literal: true

require "active_job"
require "pshub"
require "pshub/rails/active_jobs"

ActiveSupport.on_load(:active_job) { class_attribute :pshub_options, default: {} }

module ActiveJob
  module QueueAdapters
    # A class of its own: Active Job logs its name.
    class PshubAdapter < Pshub::ActiveJobAdapter; end
  end
end
