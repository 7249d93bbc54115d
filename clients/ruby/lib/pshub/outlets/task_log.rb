# frozen_string_literal: true

require_relative "log"

module Pshub
  # The log that a handler sees: each line carries its task and request id.
  class TaskLog
    def initialize(task, id)
      @marks = { task: task, id: id }
    end

    %i[debug info warn error].each do |level|
      define_method(level) { |message, **fields| Log.write(level, message, { **@marks, **fields }) }
    end
  end
end
