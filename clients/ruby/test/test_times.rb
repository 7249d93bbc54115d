# frozen_string_literal: true

require_relative "helper"
require "date"
require "pshub/testing/in_memory"

# Durations and moments of Active Support, wherever a time is taken.
class TestTimes < Minitest::Test
  # As Active Support's own does, it passes for the number of its seconds.
  class StandIn < BasicObject
    def initialize(value) = @value = value
    def is_a?(kind) = kind == StandIn || @value.is_a?(kind)
    def coerce(other) = [other, @value]
    def respond_to?(...) = @value.respond_to?(...)
    def inspect = "#{@value} seconds"
    def method_missing(...) = @value.public_send(...)
    def respond_to_missing?(...) = true
  end

  def setup
    skip "Active Support itself is loaded" if defined?(ActiveSupport)
    Object.const_set(:ActiveSupport, Module.new).const_set(:Duration, StandIn)
  end

  def teardown
    Object.send(:remove_const, :ActiveSupport) if defined?(ActiveSupport) && ActiveSupport::Duration == StandIn
  end

  def seconds(number) = StandIn.new(number)
  def shape(**options) = Pshub::EnqueueOptions.shape("t:1.0", "{}", options, nil)
  def refused(error = Pshub::InvalidArgs, &block) = assert_raises(error, &block).message

  def test_a_duration_is_converted_to_what_the_option_counts
    part, expires_ms = shape(delay_ms: seconds(300), expires_ms: seconds(3600), backoff: [seconds(30), 5], keep_result_ms: seconds(1.5),
                             unique: { for_ms: seconds(86_400) })
    assert_equal [300_000, [30_000, 5], 1500, 86_400_000, 3_600_000], [*part.values_at("delay", "backoff", "keep", "uniqueMs"), expires_ms]
    assert_equal [2.0, 30_000], [Pshub::EnqueueOptions.timeout_s("t:1.0", seconds(2)), Pshub::PutOff.new(seconds(30)).delay_ms]

    task = Pshub::Task.new("t:1.0", nil, nil, "", seconds(2), false, -> {}, job_timeout_ms: seconds(300), backoff: seconds(30))
    assert_equal [2.0, 300.0, 30_000], [task.timeout_s, task.job_timeout_s, task.backoff]
    assert_equal 30_000, Pshub::JobVerdict.delay_of(->(*) { seconds(30) }, nil, RuntimeError.new, 1)
    assert_equal [60.0, 1.0], [Pshub::Settings.new(:worker, { grace: seconds(60) }).grace, Pshub.timeout_of(nil, seconds(1))]
  end

  def test_a_duration_is_no_count_and_no_moment
    assert_match(/retries must be a whole number .*300 seconds/, refused { shape(retries: seconds(300)) })
    assert_match(/at must be a Time .*not 300 seconds/, refused { shape(at: seconds(300)) })
    refused(Pshub::ConfigError) { Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {}, retries: seconds(3)) }
    refused(Pshub::ConfigError) { Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {}, keyed: "merged", batch: seconds(3)) }
    refused(Pshub::ConfigError) { Pshub::Settings.new(:worker, { slots: seconds(3) }) }
  end

  def test_moments_are_converted_by_their_class
    now = Time.at(1_795_220_163, 702, :millisecond)
    [now, now.to_datetime, 1_795_220_163_702].each { |each| assert_equal 1_795_220_163_702, shape(at: each).first["due"] }
    assert_match(/at must be a Time/, refused { shape(at: now.to_date) })
    # What was meant to be seconds.
    told = "at must be milliseconds since 1970; 1764280000 is in 1970: multiply seconds by 1000."
    assert_equal "enqueue t:1.0: #{told}", refused { shape(at: 1_764_280_000) }
    assert_equal 978_307_200_000, shape(at: 978_307_200_000).first["due"]
    refused { shape(at: 978_307_199_999) }
  end

  def test_calls_waits_and_the_clock_of_a_test_take_durations
    task = Pshub::Task.new("t:1.0", nil, nil, "", 5, false, ->(_, ctx) { [ctx.remaining > 5, ctx.wait(seconds(0.001))] })
    kit = Pshub::InMemory.new(task)
    assert_equal [true, false], kit.hub.call("t:1.0", {}, timeout: seconds(60))
    assert_equal [[true, false]], kit.hub.gather({ a: ["t:1.0", {}, seconds(60)] }).values.map(&:value)
    job = kit.hub.enqueue("t:1.0", {}, tracked: true, delay_ms: seconds(300))
    kit.clock.advance(seconds(300))
    assert_equal [true, false], job.result(timeout_ms: seconds(30))
    kit.clock.advance_to(Time.at((kit.clock.now_ms / 1000) + 2).to_datetime)
    assert_equal 0, kit.hub.dead("default").count(before_ms: Time.now)
    kit.drain(timeout: seconds(5))
  ensure
    kit&.close
  end
end
