# frozen_string_literal: true

# A worker of the project's fault suite (test/fault): its tasks write down when they start and end, and misbehave when told to.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "pshub"
# By its own name: loaded at the first call instead, it fails the other threads that come meanwhile.
require "digest/sha1"

Pshub.logger = Logger.new($stderr, level: Logger::WARN, progname: "pshub", formatter: Pshub::Log::JsonLines.new)
SETUP = JSON.parse(ENV.fetch("PSHUB_FAULT_SETUP"))
JOURNAL = File.open(File.join(SETUP["folder"], "#{SETUP['name']}.jsonl"), File::WRONLY | File::APPEND | File::CREAT, 0o644)
LAG_S = 0.02
RUNS = { count: 0, lock: Mutex.new }

def now_us = Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond)

# Written at once, on the clock that all processes of a machine share, so that a killed process has told all it knew.
def journal(event, **fields) = JOURNAL.syswrite("#{JSON.generate({ e: event, t: now_us, **fields })}\n")

# Writes down when this process got no processor: what is late by that is not late by pshub's fault.
def watch_lag
  last = now_us
  loop do
    sleep LAG_S
    now = now_us
    lag_ms = (now - last - (LAG_S * 1_000_000)) / 1000
    last = now
    journal("lag", ms: lag_ms.round) if lag_ms > 10
  end
end

def block(milliseconds)
  finish = now_us + (milliseconds * 1000)
  nil while now_us < finish
end

# What the handler returns; nil: it goes on as usual.
def misbehave(act, ctx, run, digest)
  case act["do"]
  when "block" then block(act["ms"])
  when "big"
    journal("end", **run)
    return { **run, hash: digest, filler: "x" * act["chars"] }
  when "throw", "reject"
    journal("end", **run)
    raise act["do"] == "throw" ? "raised on purpose" : ""
  when "never"
    ctx.wait(3600)
    journal("abort", **run)
    sleep
  when "exit", "stray" then exit!(3)
  when "crash" then Process.kill("KILL", Process.pid)
  end
  nil
end

def handle(args, ctx)
  # Also of what was pushed by hand, which may be anything.
  given = args.is_a?(Hash) ? args : {}
  number = RUNS[:lock].synchronize { RUNS[:count] += 1 }
  run = { token: given.fetch("token", "hand-pushed"), run: "#{SETUP['name']}/#{number}" }
  request = ctx.instance_variable_get(:@request)
  journal("start", **run, worker: WORKER.id, atUs: request.at_us, ttlMs: request.ttl_ms)
  digest = Digest::SHA1.hexdigest(given.fetch("pad", "").to_s)
  ended = given["act"] && misbehave(given["act"], ctx, run, digest)
  return ended if ended

  journal(ctx.wait(given.fetch("ms", 1) / 1000.0) ? "abort" : "end", **run)
  { **run, hash: digest }
end

# What a handler returns that yields.
def chunks(args, ctx)
  number = RUNS[:lock].synchronize { RUNS[:count] += 1 }
  run = { token: args["token"], run: "#{SETUP['name']}/#{number}" }
  request = ctx.instance_variable_get(:@request)
  yielded = 0
  journal("start", **run, worker: WORKER.id, atUs: request.at_us, ttlMs: request.ttl_ms)
  Enumerator.new do |given|
    ctx.wait(args.fetch("firstMs", 0) / 1000.0)
    while yielded < args["count"] && !ctx.cancelled?
      given << { token: run[:token], n: yielded += 1 }
      ctx.wait(args["everyMs"] / 1000.0) if args["everyMs"].positive?
    end
  ensure
    journal(ctx.cancelled? ? "abort" : "end", **run, yielded: yielded)
  end
end

extend Pshub::DSL

task("once:1.0", args: {}, result: {}) { |args, ctx| handle(args, ctx) }
# Of a version that refuses what the one before took.
STRICT = { type: "object", properties: { ms: { type: "number", maximum: 1000 } } }.freeze
task("again:1.0", args: SETUP["isStrict"] ? STRICT : {}, result: {}, idempotent: true) { |args, ctx| handle(args, ctx) }
task("chunks:1.0", args: {}, result: {}, idempotent: true) { |args, ctx| chunks(args, ctx) }

given = SETUP["options"] || {}
options = { max_payload_bytes: given["maxPayloadBytes"], max_backlog: given["maxBacklog"], slots: given["slots"],
            lease: given["leaseMs"] && (given["leaseMs"] / 1000.0) }.compact
WORKER = Pshub::Worker.new(redis: SETUP["redis"], queue: "q", **options)
WORKER.events.on("redis:up") { |event| journal("up", role: event[:role]) }
WORKER.events.on("queue:resumed") { journal("mark", what: "resumed") }
WORKER.events.on("lease:lost") { |event| journal("lease-lost", worker: event[:worker], now: WORKER.id) }
WORKER.events.on("worker:lost") { |event| journal("adopted", worker: event[:worker], count: event[:adopted]) }

ended = Thread::Queue.new
trap("TERM") { ended << true }
Thread.new { watch_lag }
# The stage is gone: nobody would ever end this process.
Thread.new do
  $stdin.read
  exit!(1)
end
begin
  WORKER.start
  journal("hello", pid: Process.pid, worker: WORKER.id, slots: options.fetch(:slots, 4))
  ended.pop
  grace_ms = SETUP["graceMs"]
  grace_ms ? WORKER.stop(grace: grace_ms / 1000.0) : WORKER.stop
rescue Pshub::ConfigError => e
  journal("refused", message: e.message)
end
journal("left", resources: [])
exit!(0)
