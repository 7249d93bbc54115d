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

  def test_nothing_is_known_as_long_as_no_reply_told_anything
    unknown = forecast
    unknown.see(1000, 0)
    assert_equal [0.0, NEVER, nil], [unknown.wait_s(1000), unknown.length_within(0.001), unknown.length]
  end

  def test_a_wait_is_the_length_times_what_a_place_took_less_the_slots
    known = forecast(4)
    50.times { known.learn(99, 0.5, 0.02) }
    assert_equal 0, known.wait_s(3)
    assert_in_delta 1.0, known.wait_s(203)
    assert_in_delta 1.0, known.patience_s(1.27)
    assert_equal 204, known.length_within(1.2701)
  end

  def test_a_short_list_tells_nothing_of_a_long_one
    short = forecast
    short.learn(0, 0.05, 0.04)
    assert_in_delta 0.2, short.wait_s(5000)
    assert_equal NEVER, short.length_within(1.0)
    1.upto(199) { |ahead| short.learn(ahead, 0.05 + (ahead * 0.0001), 0.0001) }
    assert_operator short.wait_s(5000), :<, 0.4
  end

  def test_neither_a_pause_nor_dropped_requests_are_taken_for_service
    paused = forecast(8)
    10.times { |ahead| paused.learn(ahead, 3.0, 0.02) }
    assert_operator paused.wait_s(57), :<, 0.26
    dropped = forecast(8)
    20.times { dropped.learn(600, 0.65, 0.02) }
    assert_operator dropped.wait_s(607), :>, 1.3
  end

  def test_a_length_is_believed_for_a_moment_and_drains_meanwhile
    seen = forecast
    seen.learn(0, 0.002, 0.002)
    seen.see(90, 10)
    pass(0.04)
    assert_in_delta 80, seen.length
    pass(0.02)
    assert_nil seen.length
  end

  def test_the_rate_is_forgotten_after_ten_seconds_or_twenty_runs
    { 0.4 => 10, 2.0 => 40 }.each do |seconds, memory|
      known = forecast
      known.learn(0, seconds, seconds)
      pass(memory - 0.001)
      assert_operator known.wait_s(5), :>, 0
      pass(0.002)
      assert_equal 0, known.wait_s(5)
    end
  end

  def test_slots_count_as_busy_when_the_list_was_not_empty_for_a_while
    busy = forecast(4)
    50.times { busy.learn(9, 1.0, 0.4) }
    busy.see(3, 0)
    assert_equal 0, busy.wait_s(3)
    pass(0.051)
    busy.see(3, 0)
    assert_in_delta 0.4, busy.wait_s(3)
    assert_in_delta 0.48, busy.patience_s(1.0)
    assert_in_delta 0.2, busy.patience_s(0.5)
  end

  def test_what_was_late_is_a_guess_until_something_is_answered
    late = forecast(8)
    late.miss(15, 5.0)
    assert_operator late.wait_s(15), :>, 2.0
    late.learn(0, 0.0, 0.02)
    assert_operator late.wait_s(15), :<, 0.03
    late.miss(15, 5.0)
    assert_operator late.wait_s(15), :<, 0.03
  end

  def test_a_list_that_stands_is_kept_short_until_a_push_finds_it_all_but_empty
    standing = with_slots(8)
    look(standing, 140) { 40 }
    assert_equal NEVER, standing.length_within(PATIENT)
    look(standing, 40) { 40 }
    assert_equal 17, standing.length_within(PATIENT)
    look(standing, 200) { |ms| 17 - (ms % 15) }
    assert_equal 17, standing.length_within(PATIENT)
    standing.see(2, 0)
    assert_equal 34, standing.length_within(PATIENT)
    look(standing, 1010) { 0 }
    assert_equal NEVER, standing.length_within(PATIENT)
  end

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

  def test_a_list_that_stands_is_forgotten_by_who_does_not_call
    standing = with_slots(8)
    look(standing, 200) { 40 }
    assert_equal 17, standing.length_within(PATIENT)
    pass(1.1)
    assert_equal NEVER, standing.length_within(PATIENT)
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

  def test_retries_add_a_tenth_to_the_load_at_most
    budget = Pshub::RetryBudget.new
    retries = Array.new(2000) { budget.on_call && budget.take }.count(true)
    assert_operator retries, :>, 190
    assert_operator retries, :<=, 210
  end
end

# The same with a hub, a worker and more calls than it serves.
class TestOverloaded < PshubTest
  def test_what_comes_to_a_list_that_stands_is_refused_and_the_rest_answered_soon
    worker(declare("work:1.0") { sleep(0.02) && nil }, slots: 2)
    calling = hub
    2.times { calling.call("work:1.0", {}, timeout: 5) }
    ends = 2.5 + Pshub::Clock.now
    pending = []
    while Pshub::Clock.now < ends
      3.times { pending << calling.submit("work:1.0", {}, timeout: 2) }
      sleep 0.01
    end
    outcomes = pending.map(&:outcome)
    codes = outcomes.map { |each| each.error&.code }.tally
    assert_operator codes[nil], :>, 150
    assert_operator codes["Overloaded"], :>, 100
    assert_equal [nil, "Overloaded"], codes.keys.sort_by(&:to_s)
    waits = outcomes.select(&:ok).map(&:ms).sort
    # Before, such calls waited for four fifths of their time: 1,600 ms.
    assert_operator waits[waits.size / 2], :<, 300
  end
end
