# frozen_string_literal: true

require_relative "helper"

# The golden files of jobs and of schedules' times, held against this gem.
class TestJobVectors < Minitest::Test
  JOBS = Support.vectors("jobs.json").freeze
  CRON = Support.vectors("cron.json").freeze

  def test_there_are_cases_of_everything
    cases = [JOBS, CRON].flat_map { |file| file.reject { |name, _| name == "about" }.values }
    assert_equal 10, cases.size
    cases.each { |each| assert_operator each.size, :>, 4 }
  end

  def test_delays
    JOBS["delays"].each do |each|
      assert_equal each["ms"], Pshub::Backoff.delay_after(*each.values_at("backoff", "failures", "random")), each.inspect
    end
  end

  def test_parts
    JOBS["parts"].each { |each| assert_equal each["text"], Pshub::JobPart.text(each["part"]), each["title"] }
  end

  def test_failures
    JOBS["failures"].each do |each|
      assert_equal each["text"], Pshub::JobPart.failure_text(*each.values_at("code", "message", "status")), each.inspect
    end
  end

  def test_uniques
    # Half of a surrogate pair: this language has no text that holds it.
    halves, others = JOBS["uniques"].partition { |each| each["args"].match?(/\\ud[89ab]..(?!\\u)/) }
    assert_equal 1, halves.size
    halves.each { |each| assert_raises(Pshub::Payload::Problem) { Pshub::Canonical.digest(each["args"]) } }
    others.each do |each|
      part, = Pshub::EnqueueOptions.shape(*each.values_at("task", "args"), { unique: true }, nil)
      assert_equal each["unique"], part["unique"], each["args"]
    end
  end

  def test_following
    JOBS["following"].each do |each|
      request = Pshub::Message.decode_request(each["request"], nil, Pshub::Keys.new("pshub"))
      assert_equal each["following"], Pshub::Steps.following(request, each["result"], "q"), each["title"]
    end
  end

  def test_hastened
    JOBS["hastened"].each { |each| assert_equal each["message"], Pshub::JobText.hastened(each["lying"]), each["title"] }
  end

  def test_revived
    JOBS["revived"].each { |each| assert_equal each["message"], Pshub::JobText.revived(each["dead"], each["args"]), each["title"] }
  end

  def ms(text) = (Time.iso8601(text).to_r * 1000).to_i
  def iso(at_ms) = at_ms && Time.at(at_ms / 1000).utc.iso8601

  def test_next_times
    CRON["next"].each do |each|
      at = ms(each["after"])
      each["next"].each do |expected|
        at = Pshub::Cron.next_ms(each["cron"], each["timezone"], at)
        expected.nil? ? assert_nil(at, each.inspect) : assert_equal(expected, iso(at), each.inspect)
      end
    end
  end

  def test_patterns_that_nobody_takes
    CRON["refused"].each do |each|
      times = each.slice("cron", "timezone")
      error = assert_raises(Pshub::InvalidArgs, each.inspect) { Pshub::ScheduleEntry.check_times("n", times) }
      assert_operator error.message, :end_with?, ": #{each['why']}."
    end
  end

  def test_ticks
    CRON["ticks"].each do |each|
      entry = Pshub::ScheduleEntry.new(cron: each["cron"], missed: each["missed"], task: "a:1.0", args: "{}", ttl_ms: 0)
      message, following = entry.tick(ms(each["tick"]), ms(each["now"]), "q")
      assert_equal [each["enqueues"], each["next"]], [!message.empty?, iso(following)], each.inspect
    end
  end
end
