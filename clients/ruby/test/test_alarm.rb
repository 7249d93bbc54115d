# frozen_string_literal: true

require_relative "helper"

# What is done when its time comes, on a clock that this process makes up.
class TestAlarm < PshubTest
  def setup
    super
    @clock = Pshub::RedisClock.new
    @clock.learn(1_000_000_000_000, Pshub::Clock.now)
    @done = Thread::Queue.new
    @problems = Thread::Queue.new
  end

  def alarm(&act)
    act ||= -> { @done << Pshub::Clock.now }
    ending(Pshub::Alarm.new(@clock, ->(error) { @problems << error }, &act), :stop).tap(&:start)
  end

  def in_ms(milliseconds) = (@clock.at_us(Pshub::Clock.now) / 1000) + milliseconds

  def test_a_later_time_does_not_hide_a_sooner_one
    waiting = alarm
    hour_ms = 3_600_000
    [hour_ms, 100, 2 * hour_ms].each { |ms| waiting.sleep_until(in_ms(ms)) }
    assert @done.pop
  end

  def test_what_is_far_away_the_beats_tell_of_in_time
    waiting = alarm
    waiting.sleep_until(in_ms(3_600_000))
    waiting.sleep_until(nil)
    2.times do
      waiting.ring
      assert @done.pop
    end
    assert_predicate @done, :empty?
  end

  def test_what_rings_while_it_is_done_is_done_again
    entered, leave = Thread::Queue.new, Thread::Queue.new
    waiting = alarm { entered << leave.pop }
    waiting.ring
    eventually("the first time") { leave.num_waiting == 1 }
    waiting.ring
    leave << 1 << 2
    assert_equal [1, 2], [entered.pop, entered.pop]
  end

  def test_what_fails_is_told_of_and_ends_nothing
    errors = [Pshub::ReplyError.new("OOM"), Pshub::ConnectionLost.new("lost"), RuntimeError.new("odd")]
    waiting = alarm { (error = errors.shift) ? raise(error) : @done << true }
    4.times do |round|
      waiting.ring
      eventually("round #{round}") { errors.size == [2 - round, 0].max }
    end
    waiting.ring
    assert @done.pop
    assert_equal %w[OOM odd], [@problems.pop, @problems.pop].map(&:message)
  end
end
