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
    "longest backlog that a hub pushes to" => Pshub::SETTINGS[:max_backlog].fallback,
    "standing backlog: shortest interval, ms" => Pshub::Forecast::LEAST_INTERVAL_S * 1000,
    "standing backlog: shortest interval, in runs" => Pshub::Forecast::INTERVAL_RUNS,
    "standing backlog: interval as a share of the longest time that calls have left" => Pshub::Forecast::INTERVAL_PART,
    "standing backlog: target, in rounds of the slots" => Pshub::Forecast::TARGET_SLOTS,
    "standing backlog: least target, ms" => Pshub::Forecast::TARGET_S * 1000,
    "lease length, ms" => Pshub::SETTINGS[:lease].fallback * 1000,
    "timeout of `BLPOP` and `BLMOVE`, s" => Pshub::Connections::BLOCK_S,
    "a push number is remembered for, ms" => Pshub::TaskQueue::PUSH_MEMORY_MS,
    "a reply list is kept after its last reply for, ms" => Pshub::TaskQueue::REPLY_TTL_MS,
    "a cancelled id is kept for, ms" => Pshub::TaskQueue::CANCEL_MEMORY_MS,
    "a handler keeps its slot after its time limit for, ms" => Pshub::Executor::ABANDON_AFTER_S * 1000,
    "grace period of a leaving worker, ms" => Pshub::SETTINGS[:grace].fallback * 1000,
    "requests moved per adoption step" => Pshub::TaskQueue::ADOPT_BATCH,
    "largest answer or write, bytes" => Pshub::Batches::MAX_BYTES,
    "dead jobs kept per queue" => Pshub::TaskQueue::MAX_DEAD,
    "a dead job is kept for, ms" => Pshub::TaskQueue::DEAD_MS,
    "the worker that moves due jobs or runs schedules is replaced after, ms" => Pshub::TaskQueue::TURN_MS,
    "default retries of a job" => Pshub::Backoff::DEFAULT_RETRIES,
    "default time limit of a job's run, ms" => Pshub::Task::DEFAULT_JOB_TIMEOUT_MS,
    "callers that wait for one job" => Pshub::JobQueue::MAX_WAITERS,
    "an arrival from another queue is remembered for, ms" => Pshub::JobQueue::CAME_MS,
    "an unclosed batch is dropped after, ms" => Pshub::JobQueue::OPEN_BATCH_MS,
    "failures kept in a job" => Pshub::JobPart::MAX_FAILURES,
    "longest message of a job's failure, characters" => Pshub::JobPart::MAX_FAILURE_MESSAGE,
    "a request without a deadline waits for a worker of its task for, ms" => Pshub::Unserved::PATIENCE_S * 1000,
    "records checked for age with each rewrite" => Pshub::Catalogue::PAGE,
    "workers that write statistics with every heartbeat" => Pshub::Registrar::TELLING_AT_ONCE,
    "most heartbeats between two statistics" => Pshub::Registrar::MOST_BEATS,
    "live workers that a caller looks at first" => Pshub::Catalogue::LIVE_PAGE,
    "longest use of a route, ms" => Pshub::Routes::STALE_S * 1000,
    "slices of a statistics window" => Pshub::TaskStats::SLICES,
    "tasks with their own window" => Pshub::TaskStats::MAX_WINDOWS,
    "all windows of a worker, characters" => Pshub::TaskStats::MAX_WINDOW_CHARS,
    "recent failures kept per task" => Pshub::RecentFailures::MAX_FAILURES,
    "tasks with recent failures" => Pshub::RecentFailures::MAX_TASKS,
    "a recent failure is kept for, ms" => Pshub::RecentFailures::MEMORY_S * 1000,
    "longest message of a recent failure, characters" => Pshub::RecentFailures::MAX_MESSAGE_CHARS,
    "all recent failures of a worker, characters" => Pshub::RecentFailures::MAX_CHARS,
    "tasks with unanswered calls per hub" => Pshub::Unanswered::MAX_TASKS,
    "longest message of an unanswered call, characters" => Pshub::Unanswered::MAX_MESSAGE_CHARS,
    "all unanswered calls of a hub, characters" => Pshub::Unanswered::MAX_CHARS,
    "unanswered calls are kept for, ms" => Pshub::UnansweredReport::MEMORY_MS,
    "hubs with unanswered calls" => Pshub::UnansweredReport::MAX_HUBS,
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
