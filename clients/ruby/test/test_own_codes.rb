# frozen_string_literal: true

require_relative "helper"

# Codes and statuses that handlers choose for failures which their callers are to expect, and what errors tell of themselves.
class TestOwnCodes < PshubTest
  def city
    declare("city:1.0", idempotent: true) do |args|
      raise Pshub::TaskError.new("no such city: #{args['name']}", code: "NoSuchCity", http_status: 404, data: { name: args["name"] })
    end
  end

  def broken = declare("broken:1.0") { raise Pshub::TaskError.new("the bank is away", code: "BankAway") }

  def test_the_caller_is_told_what_the_handler_chose
    worker(city)
    calling = hub
    settled = []
    calling.events.on("call:settled") { |event| settled << event.values_at(:outcome, :code) }
    error = assert_raises(Pshub::TaskFailed) { calling.call("city:1.0", { name: "Atlantis" }) }
    assert_equal ["NoSuchCity", "TaskFailed", 404], [error.code, error.kind, error.http_status]
    assert_equal ["yes", false, { "name" => "Atlantis" }], [error.ran, error.retryable, error.data]
    assert_equal ["NoSuchCity", "yes", "no such city: Atlantis"], error.to_h.values_at("code", "ran", "message")
    [Marshal.load(Marshal.dump(error)), error.dup].each do |again|
      assert_equal [Pshub::TaskFailed, 404, error.to_h], [again.class, again.http_status, again.to_h]
    end
    assert_equal [%w[rejected NoSuchCity]], settled
  end

  def test_it_is_counted_and_logged_as_the_handler_chose
    logged = []
    before = Pshub.logger
    Pshub.logger = Logger.new(StringIO.new, formatter: ->(level, *, line) { (logged << [level, line]) && "" })
    worker(city, broken)
    calling = hub
    ["city:1.0", "broken:1.0"].each { |task| assert_raises(Pshub::TaskFailed) { calling.call(task) } }
    failures = eventually("the failure") { server.client.hvals("pshub:failures").find { |text| text.include?("BankAway") } }
    # What handlers reject is no fault, and would leave no room for what is.
    refute_includes failures, "NoSuchCity"
    tasks = JSON.parse(server.client.hvals("pshub:taskstats").first)["tasks"]
    assert_equal [{ "NoSuchCity" => 1 }, {}], tasks["city:1.0"].values_at("rejected", "failed")
    assert_equal({ "BankAway" => 1 }, tasks["broken:1.0"]["failed"])
    ended = logged.select { |_, line| line.is_a?(Pshub::Log::Line) && line.message.start_with?("task ") }
    assert_equal([["INFO", "task rejected", nil], ["WARN", "task failed", "the bank is away"]],
                 ended.map { |level, line| [level, line.message, line.raised&.message] })
  ensure
    Pshub.logger = before
  end

  def test_a_task_has_at_most_fifty_of_them
    counts = Pshub::Counts.new
    60.times { |n| counts.count(n.even? ? "failed" : "rejected", "Made#{n}") }
    counts.count("failed", "TaskFailed")
    codes = counts.codes.values.flat_map(&:keys).uniq
    assert_equal [52, 61], [codes.size, counts.total]
    assert_equal 10, counts.codes.each_value.sum { |each| each["Other"] }
  end

  def test_a_job_keeps_it_too
    worker(city)
    calling = hub
    job = calling.enqueue("city:1.0", { name: "Atlantis" }, tracked: true, retries: 0)
    error = assert_raises(Pshub::TaskFailed) { job.result(timeout_ms: 10_000) }
    assert_equal ["NoSuchCity", 404], [error.code, error.http_status]
    assert_equal ["NoSuchCity", 404], job.status.error.values_at("code", "status")
    dead = calling.dead("default").list(code: "NoSuchCity")
    assert_equal([404], dead.map { |each| each.errors.last["status"] })
  end

  def test_what_a_handler_may_choose
    chosen = Pshub::TaskError.new("x", code: "NoSuchCity", http_status: 422, retryable: false, data: [1])
    again = Marshal.load(Marshal.dump(chosen))
    assert_equal ["NoSuchCity", 422, true, [1], "x"], [again.code, again.http_status, again.final?, again.data, again.message]
    assert_equal 599, Pshub::TaskError.new("x", code: "TaskFailed", http_status: 599).http_status
    assert_equal ["TaskFailed", nil], [Pshub::TaskError.new("x").code, Pshub::TaskError.new("x").http_status]
    error = assert_raises(Pshub::ConfigError) { Pshub::TaskError.new("x", code: "Timeout") }
    assert_match(/\ATimeout is a code that pshub itself uses/, error.message)
    ["noSuchCity", "No such city", "", "N" * 65, "NoSuchCity\n", 7, :NoSuchCity].each do |code|
      error = assert_raises(Pshub::ConfigError) { Pshub::TaskError.new("x", code: code) }
      assert_match(/must start with a capital letter and have at most 64 letters and digits, such as NoSuchCity; it is /, error.message)
    end
    [399, 600, 404.5, "404", true].each do |status|
      error = assert_raises(Pshub::ConfigError) { Pshub::TaskError.new("x", http_status: status) }
      assert_match(/a whole number from 400 to 599, not /, error.message)
    end
  end

  class NoSuchStreet < Pshub::TaskError
    def initialize(street) = (@street = street)
    def code = "NoSuchStreet"
    def http_status = @street == "Elm" ? 404 : 700
    def message = "no such street"
    def data = @street == "Oak" ? raise("oak") : nil
  end

  def test_what_a_class_of_the_handlers_own_says_is_told_where_it_may_be
    worker(declare("street:1.0", retries: 0) { |args| raise NoSuchStreet, args["name"] }, slots: 1)
    calling = hub
    told = %w[Elm Fir Oak].map do |name|
      error = assert_raises(Pshub::TaskFailed) { calling.call("street:1.0", { name: name }) }
      [error.code, error.http_status, error.message]
    end
    said = "no such street"
    assert_equal [["NoSuchStreet", 404, said], ["NoSuchStreet", 500, said], ["TaskFailed", 500, said]], told
    assert_equal({ "code" => "NoSuchStreet" }, Pshub::Failures.of(NoSuchStreet.new("Fir")).slice("code", "status"))
  end

  def test_a_call_that_is_cancelled_before_it_was_sent_was_certainly_not_run
    # Nobody answers there, so that nothing of it is sent.
    calling = hub("redis://127.0.0.1:#{own_port}")
    pending = calling.submit("any:1.0", {}, timeout: 5)
    pending.cancel
    error = assert_raises(Pshub::Aborted) { pending.result }
    assert_equal %w[no no no], [error.ran, error.to_h["ran"], Marshal.load(Marshal.dump(error)).ran]
    assert_equal "maybe", Pshub::Aborted.new.ran
  end
end
