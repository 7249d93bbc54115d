# frozen_string_literal: true

require_relative "helper"

# Rules for jobs that are the same in all languages, with what the JavaScript client makes of these.
class TestJobRules < Minitest::Test
  include Support

  def shape(keyed: nil, **options) = Pshub::EnqueueOptions.shape("t:1.0", "{}", options, keyed)

  def test_options_of_a_job_as_they_travel
    assert_equal [nil, 0], shape(queue: "q", timeout_ms: 5)
    assert_equal [nil, 7], shape(expires_ms: 7)
    assert_equal [{ "keep" => 3_600_000 }, 0], shape(tracked: true)
    assert_equal [nil, 0], shape(tracked: false, unique: false, delay_ms: 0, priority: "normal")
    assert_equal [{ "retries" => 0, "backoff" => [1], "delay" => 3, "priority" => "low", "keep" => 9 }, 1],
                 shape(retries: 0, backoff: [1], delay_ms: 2.6, priority: :low, keep_result_ms: 9, expires_ms: 0.2)
    assert_equal [{ "keep" => 3_600_000, "unique" => "t:1.0:x", "uniqueMs" => 5, "until" => "started" }, 0],
                 shape(unique: { id: "x", until: :started, for_ms: 5 })
    assert_equal 86_400_000 + 60_000, shape(unique: true, delay_ms: 60_000).first["uniqueMs"]
    assert_equal({ "due" => 1_795_220_163_702 }, shape(at: Time.at(1_795_220_163, 702, :millisecond)).first)
  end

  def test_options_of_a_task_that_cannot_work_are_named
    { { job_timeout_ms: 0 } => /job_timeout_ms must be above 0/, { retries: -1 } => /retries must be a whole number/,
      { backoff: "never" } => /backoff must be 'exponential'.*or a proc/ }.each do |options, message|
      error = assert_raises(Pshub::ConfigError) { Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {}, **options) }
      assert_match message, error.message
    end
    task = Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {})
    error = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [task], slots: 2, job_slots: 3) }
    assert_equal "job_slots is 3, but this worker has 2 slots in all.", error.message
    error = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [task], queue: "forward.billing") }
    assert_equal "Queue forward.billing belongs to a forwarder: pshub forward billing.", error.message
  end

  def test_the_arguments_of_a_job_are_measured_without_what_it_carries
    executor = Pshub::Executor.new({}, Pshub::SlotThreads.new(1), 1024, nil, nil)
    large = ->(**more) { executor.send(:too_large?, Pshub::Message.decode_request(JSON.generate(more), "x", Pshub::Keys.new("pshub"))) }
    steps = [{ "args" => "x" * 9000 }]
    assert_equal([true, false, true], [large[task: "t:1.0", args: "x" * 4000], large[task: "t:1.0", args: "x", then: steps],
                                       large[task: "t:1.0", args: "x" * 4000, then: steps]])
  end
end
