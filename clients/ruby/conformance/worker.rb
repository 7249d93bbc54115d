# frozen_string_literal: true

# The worker of clients/CONFORMANCE.md: serves its tasks until SIGTERM or the end of stdin.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "pshub"

$stdout.sync = true
JOURNAL = ENV.fetch("PSHUB_CONFORMANCE_JOURNAL", nil)
INTEGER = { type: "integer" }.freeze
ADDITION = {
  args: { type: "object", properties: { x: INTEGER, y: INTEGER }, required: %w[x y], additionalProperties: false },
  result: INTEGER
}.freeze

# One line for each start, in one write, so that processes do not mix theirs.
def note(args)
  return unless JOURNAL && args.is_a?(Hash) && args["token"].is_a?(String)

  File.open(JOURNAL, "a") { |file| file.syswrite("#{args['token']}\n") }
end

def milliseconds(args) = args.fetch("ms", 0) / 1000.0

extend Pshub::DSL

task("echo:1.0") { |args| args.tap { note(args) } }
task("add:1.0", **ADDITION, description: "Adds two integers.") { |args| args["x"] + args["y"] }
task("add:1.1", **ADDITION, description: "Adds two integers and one.") { |args| args["x"] + args["y"] + 1 }
task "fail:1.0" do |args|
  raise Pshub::TaskError.new("the disk is full", retryable: true, data: { disk: "sda1" }) if args.is_a?(Hash) && args["retryable"]
  raise Pshub::TaskError.new("it failed", code: args["code"], http_status: args["status"]) if args.is_a?(Hash) && args.any?

  raise "it failed"
end
task("bad_result:1.0", result: INTEGER) { "no integer" }
task("big:1.0") { |args| "x" * args["length"] }
task "slow:1.0", timeout: 20 do |args, ctx|
  note(args)
  { aborted: ctx.wait(milliseconds(args)) }
end
task "again:1.0", timeout: 20, idempotent: true do |args, ctx|
  note(args)
  { aborted: ctx.wait(milliseconds(args)), pid: Process.pid }
end
task "deaf:1.0", timeout: 20 do |args|
  note(args)
  sleep(milliseconds(args))
  {}
end
task "flaky:1.0", backoff: 10 do |args, ctx|
  note(args)
  raise "try #{ctx.attempt} {failed}" if ctx.attempt <= args["fails"]

  { attempt: ctx.attempt, pid: Process.pid }
end
# Of jobs with a key.
in_line = lambda do |args, ctx|
  note(args)
  ctx.wait(milliseconds(args))
  note({ "token" => "#{args['token']} ended" }) if args["token"]
  raise "try #{ctx.attempt} {failed}" if ctx.attempt <= args.fetch("fails", 0)

  { attempt: ctx.attempt, fence: ctx.fence }
end
task("ordered:1.0", keyed: "ordered", backoff: 100, &in_line)
task("passing:1.0", keyed: "ordered", on_failure: "pass", backoff: 100, &in_line)
# One line for each run: <key>=<tokens> of each of its keys.
task "merged:1.0", keyed: "merged", batch: 3, backoff: 100 do |by_key, ctx|
  payloads = by_key.values.flatten
  note({ "token" => by_key.map { |key, own| "#{key}=#{own.map { |each| each['token'] }.join(',')}" }.join(" ") })
  ctx.wait(payloads.map { |each| milliseconds(each) }.max)
  raise "try #{ctx.attempt} {failed}" if payloads.any? { |each| ctx.attempt <= each.fetch("fails", 0) }
end
task "yields:1.0", timeout: 20 do |args, ctx|
  ctx.progress(1, 2, "half") if args["progress"]
  Enumerator.new do |chunks|
    (1..args["count"]).each do |n|
      chunks << n
      ctx.wait(milliseconds(args)) if args["ms"]
    end
    raise Pshub::TaskError.new("it failed", code: args["code"]) if args["code"]
  end
end
task("bad_chunk:1.0", yields: INTEGER) { [1, "no integer"].each }
task "nested:1.0", timeout: 20 do |args, ctx|
  next ctx.call("nested:1.0", { **args, "depth" => args["depth"] - 1 }) if args["depth"].positive?

  ctx.wait(milliseconds(args))
  { left_ms: ctx.remaining * 1000 }
end

# Everything else is in the environment: PSHUB_REDIS, PSHUB_QUEUE, PSHUB_SLOTS ...
worker = Pshub::Worker.new
ended = Thread::Queue.new
trap("TERM") { ended << true }
worker.start
puts JSON.generate(ready: true, client: "pshub-ruby/#{Pshub::VERSION}", pid: Process.pid)
Thread.new do
  $stdin.read
  ended << true
end
ended.pop
worker.stop
# A handler that was given up must not keep the process.
exit!(0)
