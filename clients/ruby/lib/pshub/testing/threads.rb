# frozen_string_literal: true

module Pshub
  # The threads of this process, as the system has them: one that was woken and has had no turn yet is known as such nowhere else.
  class Threads
    FOLDER = "/proc/self/task"
    # Behind its name, which may hold anything.
    RUNS = /\) R /

    def initialize
      @files = {}
    end

    # This system does not tell.
    def blind? = !File.directory?(FOLDER)

    # Some thread beside this one runs, or is about to.
    def busy?
      return Thread.list.any? { |thread| thread != Thread.current && thread.status == "run" } if blind?

      Dir.children(FOLDER).count { |id| runs?(id) } > 1
    end

    def close = @files.each_value(&:close).clear

    private

    def runs?(id)
      (@files[id] ||= File.new("#{FOLDER}/#{id}/stat")).pread(128, 0).match?(RUNS)
    rescue SystemCallError, EOFError
      # It has ended.
      @files.delete(id)&.close
      false
    end
  end
end
