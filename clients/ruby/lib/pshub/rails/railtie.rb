# frozen_string_literal: true

require_relative "active_jobs"
require_relative "shared_hub"
require_relative "../task/loading"

module Pshub
  # pshub in Rails: settings of config/pshub.yml, Rails' logger, the adapter of Active Job, and tasks in app/tasks.
  class Railtie < ::Rails::Railtie
    TASKS = "app/tasks"

    # Its files declare tasks and define no constants.
    initializer "pshub.tasks", before: :set_autoload_paths do |app|
      ::Rails.autoloaders.each { |loader| loader.ignore(app.root.join(TASKS).to_s) }
    end

    initializer "pshub.settings", after: :initialize_logger, before: :load_config_initializers do |app|
      Pshub.logger = ::Rails.logger
      file = app.root.join("config/pshub.yml")
      name = app.class.module_parent_name.to_s.underscore
      SharedHub.file = { **(name.empty? ? {} : { name: name }), **(file.exist? ? app.config_for(:pshub).to_h : {}) }
    end

    initializer "pshub.active_job", before: "active_job.set_configs" do
      ::ActiveSupport.on_load(:active_job) { require "active_job/queue_adapters/pshub_adapter" }
    end

    # What pshub-worker-rb serves: the tasks of app/tasks, and each class of Active Job. All code of the application is loaded first.
    def self.worker_tasks
      app = ::Rails.application
      app.config.eager_load_namespaces.each(&:eager_load!)
      files = Dir[app.root.join(TASKS, "**/*.rb").to_s]
      own = files.empty? ? [] : Loading.tasks(files)
      own.each { |task| task.extend(InReloader) }
      defined?(::ActiveJob) ? [*own, *ActiveJobs.tasks] : own
    end

    # Gives connections of the database back after each run, and in development runs the code as it is now. Active Job does so itself.
    module InReloader
      def run(args, context) = ::Rails.application.reloader.wrap { super }
    end
  end
end
