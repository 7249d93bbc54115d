# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# How long a list may be, by what a hub sees of it; on a clock that stands still between the steps.
class TestOverload < Minitest::Test
  NEVER = Float::INFINITY
  PATIENT = 60.0

  def run
    @now = 1000.0
    Pshub::Clock.stub(:now, -> { @now }) { super }
  end

  def forecast(slots = 1) = Pshub::Forecast.new.tap { |one| one.slots = slots }
  def pass(seconds) = @now += seconds

  # A push and a reply every 10 ms, for so long; the block tells the length at so many ms.
  def look(forecast, until_ms)
    0.step(until_ms - 1, 10) do |ms|
      forecast.learn(20, 0.05, 0.02)
      forecast.see(yield(ms), 0)
      pass(0.01)
    end
  end

  def with_slots(slots) = forecast(slots).tap { |one| 50.times { one.learn(20, 0.05, 0.02) } }

  def test_a_list_does_not_stand_that_was_short_or_goes_down_or_is_not_served
    [->(ms) { ms == 80 ? 16 : 40 }, ->(ms) { 200 - (ms / 5) }].each do |length|
      passing = with_slots(8)
      look(passing, 220, &length)
      assert_equal NEVER, passing.length_within(PATIENT)
    end
    paused = with_slots(8)
    50.times do |looks|
      pass(0.01)
      paused.see(40 + looks, 1)
    end
    assert_equal NEVER, paused.length_within(PATIENT)
  end

  def test_the_interval_of_long_tasks_is_five_runs
    long = with_slots(8)
    100.times { long.learn(20, 5.0, 2.0) }
    looks = lambda do |count|
      count.times do
        long.learn(20, 5.0, 2.0)
        long.see(40, 0)
        pass(0.5)
      end
    end
    looks[28]
    assert_operator long.length_within(PATIENT), :>, 17
    looks[4]
    assert_equal 17, long.length_within(PATIENT)
  end

  def test_golden_steps
    JSON.parse(File.read(File.join(ROOT, "clients/vectors/forecast.json")))["cases"].each do |each|
      told = forecast(each["slots"])
      each["steps"].each do |at, kind, *given|
        # Exact, so that what is due at a moment is due at that moment.
        @now = Rational(at, 1000)
        case kind
        when "learn" then told.learn(given[0], given[1] / 1000.0, given[2] / 1000.0)
        when "miss" then told.miss(given[0], given[1] / 1000.0)
        when "see" then told.see(given[0], given[1], given[2].to_f / 1000)
        when "slots" then told.slots = given[0]
        else knows(told, *given, "#{each['title']}, at #{at}")
        end
      end
    end
  end

  def knows(told, left_ms, ahead, expected, where)
    within = told.length_within(left_ms / 1000.0)
    found = { "length" => told.length, "within" => (within unless within == NEVER), "waitMs" => told.wait_s(ahead) * 1000,
              "patienceMs" => told.patience_s(left_ms / 1000.0) * 1000 }
    expected.each do |name, value|
      value ? assert_in_delta(value, found[name] || NEVER, 1e-6, "#{name}: #{where}") : assert_nil(found[name], "#{name}: #{where}")
    end
  end
end
