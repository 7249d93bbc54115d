# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# How long a list may be, by what a hub sees of it; on a clock that stands still between the steps.
class TestOverload < Minitest::Test
  NEVER = Float::INFINITY

  def run
    @now = 1000.0
    Pshub::Clock.stub(:now, -> { @now }) { super }
  end

  def forecast(slots = 1) = Pshub::Forecast.new.tap { |one| one.slots = slots }

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
