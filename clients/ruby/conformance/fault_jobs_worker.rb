# frozen_string_literal: true

# Some workers of the project's fault suite for jobs (test/fault/jobs), with tasks that write down what they ran.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "pshub"

Pshub.logger = Logger.new(IO::NULL)
$stdout.sync = true
SETUP = JSON.parse(ENV.fetch("PSHUB_JOBS_SETUP"))
JOURNAL = File.open(SETUP["journal"], File::WRONLY | File::APPEND | File::CREAT, 0o644)
RUNS = { count: 0, lock: Mutex.new }

def note(event, **fields)
  JOURNAL.syswrite("#{JSON.generate({ e: event, **fields, at: Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) })}\n")
end

def misbehave(act, milliseconds, ctx)
  case act
  when "block"
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (milliseconds / 1000.0)
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  when "throw" then raise "raised on purpose"
  when "never"
    ctx.wait(3600)
    raise "told to stop"
  when "exit" then exit!(3)
  end
end

# +fails+: so many tries; +before+: what the step before it returned; +act+: what it does to its worker.
def handle(args, ctx)
  run = "#{SETUP['name']}/#{RUNS[:lock].synchronize { RUNS[:count] += 1 }}"
  told = { id: ctx.id, token: args["token"], run: run }
  of_key = args["key"] ? { key: args["key"], n: args["n"], fence: ctx.fence } : {}
  note("start", **told, **of_key, **(args["before"] ? { before: args["before"]["run"] } : {}))
  misbehave(args["act"], args.fetch("ms", 1), ctx) if args["act"]
  raise "told to stop" if ctx.wait(args.fetch("ms", 1) / 1000.0)
  raise "not yet {" if ctx.attempt <= args.fetch("fails", 0)

  note("end", **told)
  { run: run }
ensure
  note("stop", id: ctx.id, run: run) if args["key"]
end

# +ms+: how long it takes; +fails+: how likely it fails. A run takes as long as the slowest of its payloads.
def handle_merged(by_key, ctx)
  run = "#{SETUP['name']}/#{RUNS[:lock].synchronize { RUNS[:count] += 1 }}"
  payloads = by_key.values.flatten(1)
  note("merged", run: run, keys: by_key.map { |key, each| [key, each.map { |payload| payload["n"] }] }, fence: ctx.fence)
  is_done = false
  raise "told to stop" if ctx.wait(payloads.map { |payload| payload["ms"] }.max / 1000.0)
  raise "not yet {" if payloads.any? { |payload| rand < payload.fetch("fails", 0) }

  is_done = true
ensure
  note("merged-stop", run: run, isDone: is_done)
end

extend Pshub::DSL

task("#{SETUP['queue']}-work:1.0", args: {}, retries: 8, backoff: 50, job_timeout_ms: 15_000) { |args, ctx| handle(args, ctx) }
task("#{SETUP['queue']}-acts:1.0", args: {}, retries: 2, backoff: 50, job_timeout_ms: 2000) { |args, ctx| handle(args, ctx) }
task("#{SETUP['queue']}-keyed:1.0", args: {}, keyed: "ordered", retries: 8, backoff: 50, job_timeout_ms: 15_000) { |args, ctx| handle(args, ctx) }
merging = { keyed: "merged", batch: 3, max_payloads: 20, retries: 8, backoff: 50, job_timeout_ms: 15_000 }
task("#{SETUP['queue']}-merged:1.0", args: {}, **merging) { |by_key, ctx| handle_merged(by_key, ctx) }
# Those of schedules.
%w[once skip].each do |name|
  task("#{SETUP['queue']}-#{name}:1.0", args: {}, retries: 8, backoff: 50, job_timeout_ms: 15_000) { |args, ctx| handle(args, ctx) }
end

options = { queue: SETUP["queue"], slots: 8, job_slots: 8, lease: SETUP["leaseMs"] / 1000.0, grace: SETUP["graceMs"] && (SETUP["graceMs"] / 1000.0) }.compact
workers = Array.new(SETUP["workers"]) { Pshub::Worker.new(redis: SETUP["redis"], **options) }
ended = Thread::Queue.new
trap("TERM") { ended << true }
# The stage is gone: nobody would ever end this process.
Thread.new do
  $stdin.read
  exit!(1)
end
workers.each(&:start)
puts "ready"
ended.pop
workers.map { |worker| Thread.new { worker.stop } }.each(&:join)
exit!(0)
