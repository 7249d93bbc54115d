# frozen_string_literal: true

require_relative "helper"
require "open3"

# An application of Rails whose web process calls and enqueues, and the worker that serves it.
class TestRails < PshubTest
  FILES = {
    "config/environment.rb" => <<~RUBY,
      require "rails"
      require "active_job/railtie"
      require "pshub"

      module Shop
        class Application < Rails::Application
          config.root = File.expand_path("..", __dir__)
          config.load_defaults Rails::VERSION::STRING.to_f
          config.eager_load = false
          config.active_job.queue_adapter = :pshub
          config.logger = Logger.new($stderr)
        end
      end
      Rails.application.initialize!
    RUBY
    "config/pshub.yml" => "shared:\n  namespace: shop\n  slots: 3\n",
    "app/models/tax.rb" => "class Tax\n  def self.of(cents) = cents / 5\nend\n",
    "app/tasks/shop/prices.rb" => "task('tax:1.0') { |args| { tax: Tax.of(args['cents']), executor: Rails.application.executor.active? } }\n",
    "app/jobs/note_job.rb" => "class NoteJob < ActiveJob::Base\n  self.pshub_options = { tracked: true }\n  def perform(text) = File.write('note', text)\nend\n"
  }.freeze
  LIBRARY = File.expand_path("../lib", __dir__)

  def setup
    _, error, status = Open3.capture3(RbConfig.ruby, "-e", 'require "rails"; require "active_job/railtie"')
    skip "Rails cannot be loaded here: #{error.lines.first}" unless status.success?
    super
    @folder = Dir.mktmpdir("pshub-rails-")
    FILES.each do |path, text|
      FileUtils.mkdir_p(File.dirname(File.join(@folder, path)))
      File.write(File.join(@folder, path), text)
    end
  end

  def teardown
    super
    FileUtils.rm_rf(@folder) if @folder
  end

  def env = { "PSHUB_REDIS" => server.url }

  def in_application(code)
    program = "require './config/environment'\n#{code}"
    output, error, status = Open3.capture3(env, RbConfig.ruby, "-I", LIBRARY, "-e", program, chdir: @folder)
    assert status.success?, error
    [output, error]
  end

  def test_the_application_and_its_worker
    log = File.join(@folder, "worker.log")
    command = [RbConfig.ruby, "-I", LIBRARY, File.expand_path("../exe/pshub-worker-rb", __dir__)]
    pid = Process.spawn(env, *command, chdir: @folder, err: log)
    cards = -> { server.client.hvals("shop:workers").map { |card| JSON.parse(card) } }
    card = eventually("the worker's registration") do
      raise Minitest::Assertion, File.read(log) if Process.wait2(pid, Process::WNOHANG)

      cards.call.first
    end
    assert_equal [3, %w[active_job/note_job:1.0 tax:1.0]], [card["slots"], card["tasks"].map(&:first).sort]

    output, error = in_application(<<~RUBY)
      job = NoteJob.perform_later("seen")
      Pshub.hub.job(job.provider_job_id, queue: "default").result(timeout_ms: 60_000)
      # As a process of Puma's, which has a hub of its own.
      told = IO.popen("-") { |child| child ? child.read : print(Pshub.hub.call("tax:1.0", { cents: 500 }, timeout: 60).to_json) }
      puts told, Pshub.logger.equal?(Rails.logger)
      Pshub.logger.warn("a line of pshub")
    RUBY
    assert_equal ['{"tax":100,"executor":true}', "true"], output.lines.map(&:chomp)
    assert_includes error, "a line of pshub"
    assert_equal "seen", File.read(File.join(@folder, "note"))
  ensure
    Process.kill("KILL", pid) && Process.wait(pid) if pid
  end

  def test_a_wrong_setting_of_the_file_is_named
    File.write(File.join(@folder, "config/pshub.yml"), "shared:\n  slits: 3\n")
    code = "begin; Pshub.hub; rescue Pshub::ConfigError => e; print e.message; end"
    output, = in_application(code)
    assert_match(%r{\Aconfig/pshub.yml: there is no setting slits. Known are redis, namespace}, output)
  end
end
