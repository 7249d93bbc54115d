# frozen_string_literal: true

require_relative "helper"

# Which build of its program a worker says that it runs.
class TestBuild < PshubTest
  TASKS = File.expand_path("tasks.rb", __dir__)
  WRONG = "must be a string of 1 to 64 characters without control characters; it is"

  def adder = declare("add:1.0") { |args| args["x"] }

  def card_of(worker) = JSON.parse(server.client.hget("pshub:workers", worker.id))

  def test_it_is_on_the_card_and_told_with_the_start
    serving = Pshub::Worker.new(redis: server.url, tasks: [adder], build: "3f2c1a")
    started = []
    serving.events.on("worker:started") { |event| started << event[:build] }
    serving.start
    assert_equal ["3f2c1a", ["3f2c1a"]], [card_of(serving)["build"], started]
  ensure
    serving&.stop
  end

  def test_without_one_there_is_none
    refute_includes card_of(worker(adder)).keys, "build"
  end

  def test_what_is_no_short_text_is_refused
    ["", "x" * 65, "3f2c1a\n", "a\u0085", "\xff", 7].each do |build|
      wrong = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [adder], build: build) }
      assert_equal "option build #{WRONG} #{build.inspect}.", wrong.message
    end
    wrong = assert_raises(Pshub::ConfigError) { Pshub::Hub.new(build: "3f2c1a") }
    assert_match(/\AThere is no option build\./, wrong.message)
  end

  def test_the_flag_and_the_variable
    worker_process("--build", "3f2c1a")
    assert_equal ["3f2c1a"], server.client.hvals("pshub:workers").map { |card| JSON.parse(card)["build"] }
    assert_equal ["pshub-worker-rb: --build #{WRONG} \"a\\tb\".\n", 2], program(TASKS, "--build", "a\tb")
    output, code = program(TASKS, env: { "PSHUB_BUILD" => "größer\u0085" })
    assert_equal ["PSHUB_BUILD #{WRONG}", 2], [output[/PSHUB_BUILD.* it is/], code]
  end

  def test_the_variable_is_utf_8_where_the_locale_is_another
    code = "build = Pshub::Settings.new(:worker, {}).build; puts JSON.generate(build.encoding.name => build)"
    library = File.expand_path("../lib", __dir__)
    output, = Open3.capture2e({ "PSHUB_BUILD" => "größer", "LC_ALL" => "C" }, RbConfig.ruby, "-I", library, "-r", "pshub", "-e", code)
    assert_equal({ "UTF-8" => "größer" }, JSON.parse(output.force_encoding("UTF-8")))
  end
end
