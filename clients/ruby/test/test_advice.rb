# frozen_string_literal: true

require_relative "helper"
require "pshub/redis/away"
require "pshub/settings/duration"
require "stringio"

# What people are told in the same words by all languages: clients/vectors/advice.json.
class TestAdvice < PshubTest
  ADVICE = Support.vectors("advice.json").freeze
  # What does not happen here: there is no event loop that a handler could block.
  ABSENT = %w[loop:blocked].freeze

  # The lines that an event makes: level, text and fields.
  def lines_of(event, **members)
    before = Pshub.logger
    output = StringIO.new
    Pshub.logger = Logger.new(output, level: Logger::DEBUG, formatter: Pshub::Log::JsonLines.new)
    events = Pshub::Events.new
    Pshub::Log.watch(events)
    events.emit(event, **members)
    output.string.lines.map { |line| JSON.parse(line) }.map do |line|
      [line["level"], line["msg"], line.except("level", "time", "name", "msg", "stack")]
    end
  ensure
    Pshub.logger = before
  end

  def filled(text, values) = text.gsub(/\{(\w+)\}/) { values.fetch(Regexp.last_match(1)) }

  def test_lines_of_the_log
    ADVICE["log"].each do |row|
      members = row["message"].scan(/\{(\w+)\}/).flatten.to_h { |name| [name, "<#{name}>"] }
      lines = ABSENT.include?(row["event"]) ? [] : [[row["level"], filled(row["message"], members), members]]
      assert_equal lines, lines_of(row["event"], **members.transform_keys(&:to_sym)), row["event"]
    end
  end

  def test_lines_about_a_connection_that_is_gone
    ADVICE["retrying"].each do |row|
      fields = { "role" => "worker commands", "reason" => row["told"] }
      assert_equal [[row["level"], row["message"], fields]], lines_of("redis:down", role: "worker commands", reason: row["reason"])
    end
  end

  def test_keys_of_arguments_are_in_no_line
    problems = %w[/secret /other].map { |pointer| { "pointer" => pointer, "message" => "is not a known field" } }
    event = { task: "a:1.0", queue: "q", id: "1", ok: false, outcome: "rejected", code: "InvalidArgs", message: "/secret is not", problems: problems }
    (level, message, fields), = lines_of("task:settled", **event)
    assert_equal ["warn", "task rejected", "is not a known field"], [level, message, fields["reason"]]
    refute_includes fields.to_s, "secret"
  end

  def test_a_redis_that_is_away
    ADVICE["away"].each { |row| assert_equal row["told"], Pshub::Away.text(row["redis"], row["reason"]) }
    text = Pshub::Away.text({ host: "db", password: "secret" }, "gone")
    assert text.start_with?("Redis at db:6379 could not be reached: gone;"), text
  end

  def test_durations
    ADVICE["durations"]["cases"].each do |row|
      parse = -> { Pshub::Duration.parse(row["text"], "--grace") }
      next assert_equal row["ms"], parse.call * 1000, row["text"] if row["ms"]

      wrong = filled(ADVICE["durations"]["wrong"], "what" => "--grace", "text" => row["text"])
      assert_equal wrong, assert_raises(Pshub::ConfigError, &parse).message
    end
  end

  def test_calls
    calls = ADVICE["calls"]
    calls["tasks"].each do |served|
      serving = worker(*served["tasks"].map { |name| declare(name, args: calls["args"]) { 1 } }, queue: served["queue"])
      serving.stop if served["left"]
    end
    calling = hub
    calls["cases"].each do |row|
      error = assert_raises(Pshub::HubError, row.inspect) { act(calling, row) }
      assert_equal [row["code"], "no"], [error.code, error.ran]
      values = { "start" => "pshub-worker-rb <file>", "problems" => calls["problems"].join("; ") }
      assert_equal filled(row["message"], values), with_sorted_problems(error.message)
    end
  end

  def act(calling, row)
    options = { queue: row["queue"], timeout: row["timeoutMs"] && (row["timeoutMs"] / 1000.0) }.compact
    args = row.fetch("args", {})
    row["call"] ? calling.call(row["call"], args, **options) : calling.enqueue(row["enqueue"], args, **options)
  end

  # Each language finds them in an order of its own.
  def with_sorted_problems(message) = message.sub(%r{(?<=: )(/.*)(?=\.\z)}) { |found| found.split("; ").sort.join("; ") }
end
