# frozen_string_literal: true

# The caller of clients/CONFORMANCE.md: orders on stdin, answers on stdout, one JSON object per line.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "pshub"
require_relative "caller_jobs"

$stdout.sync = true
LOCK = Mutex.new
# Everything else is in the environment: PSHUB_REDIS, PSHUB_NAMESPACE, PSHUB_NAME ...
HUB = Pshub::Hub.new

def say(answer)
  LOCK.synchronize { $stdout.puts(JSON.generate(answer)) }
end

def outcome_of(call)
  outcome = call.outcome
  return { ok: true, result: JSON.generate(outcome.value, max_nesting: 0), ms: outcome.ms } if outcome.ok?

  error = outcome.error
  told = {
    code: error.code, ran: error.ran, retryable: error.retryable, status: error.http_status, message: error.message,
    data: error.data
  }
  { ok: false, error: told, ms: outcome.ms }
end

def start(order, args, told = nil)
  timeout = order["timeout_ms"] && (order["timeout_ms"] / 1000.0)
  on_progress = told && ->(progress) { told << progress.to_h }
  HUB.submit(order["task"], JSON.parse(args, max_nesting: 0), timeout: timeout, traceparent: order["traceparent"],
                                                              on_progress: on_progress)
rescue JSON::ParserError
  # Half of a surrogate pair: this language has no text that holds it.
  Pshub::PendingCall.failed(Pshub::InvalidArgs.new("not JSON"))
end

def read(order)
  chunks = []
  told = []
  timeout = order["timeout_ms"] && (order["timeout_ms"] / 1000.0)
  come = -> { { chunks: JSON.generate(chunks), progress: JSON.generate(told.map(&:to_h)) } }
  on_progress = ->(progress) { told << progress } if order["progress"]
  pause, rest = order.values_at("pause_ms", "rest_ms").map { |ms| ms.to_i / 1000.0 }
  result = HUB.stream(order["task"], JSON.parse(order["args"]), timeout: timeout, on_progress: on_progress) do |chunk|
    chunks << chunk
    return { ok: true, **come.call } if chunks.size == order["take"]

    sleep(chunks.size == 1 && rest.positive? ? rest : pause)
  end
  { ok: true, result: JSON.generate(result), **come.call }
rescue Pshub::HubError => e
  { ok: false, error: { code: e.code, ran: e.ran, message: e.message }, **come.call }
end

say(ready: true, client: "pshub-ruby/#{Pshub::VERSION}")
calls = {}
$stdin.each_line do |line|
  order = JSON.parse(line)
  id = order["id"]
  case order["op"]
  when "call"
    told = [] if order["progress"]
    call = calls[id] = start(order, order["args"], told)
    Thread.new do
      say({ id: id, **outcome_of(call), **(told ? { progress: JSON.generate(told) } : {}) })
      calls.delete(id)
    end
  when "batch"
    batch = order["args"].map { |args| start(order, args) }
    Thread.new { say(id: id, outcomes: batch.map { |each| outcome_of(each) }) }
  when "cancel"
    calls[order["call"]]&.cancel
    say(id: id)
  when "stream"
    Thread.new { say(id: id, **read(order)) }
  when "jobs"
    Thread.new { say(id: id, **CallerJobs.new(HUB).run(order)) }
  when "close"
    HUB.close
    say(id: id)
  end
end
HUB.close
