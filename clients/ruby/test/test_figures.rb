# frozen_string_literal: true

require_relative "helper"

# What a worker tells of itself, for others to read.
class TestFigures < PshubTest
  ARGS = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] }.freeze

  def adder = declare("add:1.0", args: ARGS) { |args| args["x"] + 2 }

  def test_cards_and_statistics
    serving = worker(adder, declare("wait:1.0", timeout: 20, idempotent: true) { |args, ctx| ctx.wait(args["s"]) })
    calling = hub
    4.times { |x| calling.call("add:1.0", { x: x }) }
    calling.enqueue("add:1.0", { x: 4 })
    read = ->(key) { JSON.parse(server.client.hget(key, serving.id) || "{}") }
    eventually { read.call("pshub:stats").dig("counters", "ok") == 5 && read.call("pshub:taskstats").dig("tasks", "add:1.0", "ok") == 5 }
    assert_equal({ "ok" => 1, "rejected" => {}, "failed" => {} }, read.call("pshub:taskstats")["tasks"]["add:1.0"]["jobs"])
    window = read.call("pshub:taskstats")["tasks"]["add:1.0"]["window"]
    %w[backlog queue exec].each { |phase| assert_equal 5, window["us"][phase]["counts"].each_slice(2).sum(&:last) }
    card = read.call("pshub:workers")
    declared = JSON.parse(server.client.hget("pshub:tasks", "add:1.0"))
    assert_equal declared["digest"], card["tasks"]["add:1.0"]
    in_order = '[{"properties":{"x":{"type":"integer"}},"required":["x"],"type":"object"},null]'
    assert_equal Digest::SHA256.hexdigest(in_order)[0, 12], declared["digest"]
    assert_equal [false, 60_000, "default"], declared.values_at("idempotent", "timeoutMs", "queue")
    assert_equal [4, Process.pid, "pshub-ruby/#{Pshub::VERSION}"], card.values_at("slots", "pid", "client")
  end

  def test_recent_failures_and_callers
    failing = declare("raise:1.0") { |_| raise ArgumentError, "the disk is full" }
    # As a worker in another language that died left it.
    %w[stats taskstats slow failures].each { |key| server.client.hset("pshub:#{key}", "dead", '{"seen":1}') }
    serving = worker(adder, failing)
    shop = hub(name: "shop")
    error = nil
    12.times { error = assert_raises(Pshub::TaskFailed) { shop.call("raise:1.0") } }
    shop.call("add:1.0", { x: 1 })
    seconds = server.client.time.first
    late = { task: "add:1.0", id: "late", ttl: 5, at: (seconds - 60) * 1_000_000 }
    server.push(JSON.generate(late), JSON.generate(task: "add:1.0", id: "invalid", args: 1))
    read = ->(key) { JSON.parse(server.client.hget(key, serving.id) || "{}") }
    eventually { read.call("pshub:failures").fetch("add:1.0", []).size == 2 }
    failures = read.call("pshub:failures")
    assert_equal 10, failures["raise:1.0"].map { |each| each["id"] }.uniq.size
    newest = failures["raise:1.0"].first
    assert_equal [error.id, "TaskFailed", "the disk is full", "shop"], newest.values_at("id", "code", "message", "from")
    assert_operator newest["at"], :<=, server.client.time.then { |whole, micros| (whole * 1_000_000) + micros }
    by_id = failures["add:1.0"].to_h { |each| [each["id"], each] }
    assert_equal ["Expired", 0, nil], by_id["late"].values_at("code", "execUs", "from")
    assert_equal "InvalidArgs", by_id["invalid"]["code"]
    eventually { read.call("pshub:taskstats").dig("tasks", "add:1.0", "callers") == { "shop" => 1, "" => 2 } }
    assert_equal({ "shop" => 12 }, read.call("pshub:taskstats").dig("tasks", "raise:1.0", "window", "callers"))
    serving.stop
    %w[stats taskstats slow failures].each { |key| assert_empty server.client.hkeys("pshub:#{key}"), key }
  end
end
