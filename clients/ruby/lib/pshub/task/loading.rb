# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "task"

module Pshub
  # Files that declare tasks, as the command that serves them is given them.
  module Loading
    # A file was found, and broke while it was loaded.
    class Broken < StandardError; end

    OWN = File.expand_path("..", __dir__)

    module_function

    # The tasks of these files. Raises ConfigError when a file is not there or declares no task, Broken when it fails while it is loaded.
    def tasks(names)
      raise ConfigError, "name a file that declares tasks" if names.empty?

      TOPLEVEL_BINDING.receiver.extend(DSL)
      names.uniq.each { |name| tasks_of(name) }
      Pshub.tasks
    end

    def tasks_of(name)
      path = File.expand_path(name)
      raise ConfigError, "#{name} is a directory; give the path of a file in it." if File.directory?(path)
      raise ConfigError, "There is no file #{name} (#{path})." unless File.file?(path)

      before = Pshub.tasks.size
      load_file(name, path)
      raise ConfigError, "#{name} declares no task. Declare one with task." if Pshub.tasks.size == before
    end

    def load_file(name, path)
      load path
    rescue ConfigError => e
      raise ConfigError, "#{name}: #{e.message}"
    rescue LoadError => e
      raise Broken, "#{name} could not be loaded: #{Errors.message_of(e)}#{place_of(e)}."
    rescue SyntaxError => e
      # Its message is an excerpt of the file, behind the place.
      raise Broken, "#{name} could not be loaded: #{Errors.message_of(e).lines.first.to_s.strip.delete_suffix('.')}."
    rescue StandardError, ScriptError => e
      raise Broken, "#{name} failed while loading: #{told(e)}#{place_of(e)}."
    end

    # With its class: many messages are nothing without.
    def told(error)
      message = Errors.message_of(error)
      message == error.class.name ? message : "#{error.class}: #{message.lines.first.to_s.strip}"
    end

    # The last file and line on the way to it that are neither ours nor Ruby's.
    def place_of(error)
      own = ->(path) { path.start_with?(OWN, "<internal:", RbConfig::CONFIG["rubylibdir"]) }
      line = (error.backtrace_locations || []).find { |each| !own.call(each.absolute_path || each.path.to_s) }
      line ? " (#{line.absolute_path || line.path}:#{line.lineno})" : ""
    end
  end
end
