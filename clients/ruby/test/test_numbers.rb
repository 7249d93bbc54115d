# frozen_string_literal: true

require_relative "helper"

# The numbers of PROTOCOL.md, section 12, and what people are told of Redis' refusals, held against this package.
class TestNumbers < Minitest::Test
  include Support

  # As this package has them; in seconds where the table has milliseconds.
  OURS = {
    "deepest nesting of arguments and results" => Pshub::Payload::MAX_DEPTH,
    "largest arguments or result, bytes" => Pshub::SETTINGS[:max_payload_bytes].fallback,
    "longest `tracestate`, characters" => Pshub::Message::MAX_TRACESTATE_LENGTH,
    "longest backlog a hub pushes to" => Pshub::SETTINGS[:max_backlog].fallback,
    "shortest interval after which a list stands, ms" => Pshub::Forecast::LEAST_INTERVAL_S * 1000,
    "the same, in runs" => Pshub::Forecast::INTERVAL_RUNS,
    "the same, as a part of the longest time that calls have left" => Pshub::Forecast::INTERVAL_PART,
    "target of a list that stands, in rounds of the slots" => Pshub::Forecast::TARGET_SLOTS,
    "the same, at least, ms" => Pshub::Forecast::TARGET_S * 1000,
    "lease, ms" => Pshub::SETTINGS[:lease].fallback * 1000,
    "block of `BLPOP` and `BLMOVE`, s" => Pshub::Connections::BLOCK_S,
    "memory of a push number, ms" => Pshub::TaskQueue::PUSH_MEMORY_MS,
    "life of a reply list after its last reply, ms" => Pshub::TaskQueue::REPLY_TTL_MS,
    "memory of a cancellation, ms" => Pshub::TaskQueue::CANCEL_MEMORY_MS,
    "time for a handler after its deadline, ms" => Pshub::Executor::ABANDON_AFTER_S * 1000,
    "grace when leaving, ms" => Pshub::SETTINGS[:grace].fallback * 1000,
    "requests moved per adoption" => Pshub::TaskQueue::ADOPT_BATCH,
    "one answer or one write, bytes" => Pshub::Batches::MAX_BYTES,
    "dead jobs of a queue" => Pshub::TaskQueue::MAX_DEAD,
    "life of a dead job, ms" => Pshub::TaskQueue::DEAD_MS,
    "a worker that looks after what is due is replaced after, ms" => Pshub::TaskQueue::TURN_MS,
    "tries after the first one of a job" => Pshub::Backoff::DEFAULT_RETRIES,
    "a job runs for, at the most, ms" => Pshub::Task::DEFAULT_JOB_TIMEOUT_MS,
    "who waits for one job" => Pshub::JobQueue::MAX_WAITERS,
    "a job that came from another queue is known for, ms" => Pshub::JobQueue::CAME_MS,
    "a batch that is not closed is forgotten after, ms" => Pshub::JobQueue::OPEN_BATCH_MS,
    "failures that a job keeps" => Pshub::JobPart::MAX_FAILURES,
    "longest message of a job's failure, characters" => Pshub::JobPart::MAX_FAILURE_MESSAGE,
    "a task nobody takes is waited for, ms" => Pshub::Unserved::PATIENCE_S * 1000,
    "records of the registry that are looked at with that" => Pshub::Catalogue::PAGE,
    "workers that write statistics with every beat" => Pshub::Registrar::TELLING_AT_ONCE,
    "beats from statistics to statistics, at most" => Pshub::Registrar::MOST_BEATS,
    "live workers of a queue that a caller looks at first" => Pshub::Catalogue::LIVE_PAGE,
    "longest use of a route, ms" => Pshub::Routes::STALE_S * 1000,
    "slices of a window" => Pshub::TaskStats::SLICES,
    "tasks with a window of their own" => Pshub::TaskStats::MAX_WINDOWS,
    "longest windows of a worker, characters" => Pshub::TaskStats::MAX_WINDOW_CHARS,
    "recent failures of a task" => Pshub::RecentFailures::MAX_FAILURES,
    "tasks with recent failures" => Pshub::RecentFailures::MAX_TASKS,
    "memory of recent failures, ms" => Pshub::RecentFailures::MEMORY_S * 1000,
    "longest message of a recent failure, characters" => Pshub::RecentFailures::MAX_MESSAGE_CHARS,
    "longest recent failures of a worker, characters" => Pshub::RecentFailures::MAX_CHARS,
    "tasks with unanswered calls of a hub" => Pshub::Unanswered::MAX_TASKS,
    "longest message of an unanswered call, characters" => Pshub::Unanswered::MAX_MESSAGE_CHARS,
    "longest unanswered calls of a hub, characters" => Pshub::Unanswered::MAX_CHARS,
    "memory of unanswered calls, ms" => Pshub::UnansweredReport::MEMORY_MS,
    "hubs whose unanswered calls are listed" => Pshub::UnansweredReport::MAX_HUBS,
    "longest task card, characters" => Pshub::Foreign::MAX_CARD,
    "longest other record of the registry, characters" => Pshub::Foreign::MAX_RECORD,
    "deepest nesting of a record of the registry" => Pshub::Foreign::MAX_NESTING
  }.freeze

  def test_numbers
    numbers = vectors("numbers.json")["numbers"]
    OURS.each { |name, ours| assert_in_delta numbers.fetch(name), ours, 1e-9, name }
  end

  def test_refusals
    vectors("refusals.json")["cases"].each do |each|
      assert_equal each["told"], Pshub::Refusals.explained(each["message"])
    end
  end

  def test_numbers_in_the_environment_are_decimal_digits
    %w[PSHUB_SLOTS PSHUB_GRACE_MS].product(["0x4", "4.0", "+4", "1_0"]) do |name, text|
      ENV[name] = text
      assert_match(/\A#{name} must be a/, assert_raises(Pshub::ConfigError) { Pshub::Settings.new(:worker, {}) }.message)
    ensure
      ENV.delete(name)
    end
  end
end
