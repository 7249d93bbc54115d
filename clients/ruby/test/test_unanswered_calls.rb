# frozen_string_literal: true

require_relative "helper"

# What a hub tells of the calls that no worker ended: PROTOCOL.md, section 11.5.
class TestUnansweredCalls < PshubTest
  ARGS = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] }.freeze

  def adder = declare("add:1.0", args: ARGS) { |args| args["x"] + 2 }
  def record_of(id) = JSON.parse(server.client.get("pshub:refused:#{id}") || '{"tasks":[]}')

  def codes_of(id)
    record_of(id)["tasks"].to_h { |each| [each["task"], each["codes"].to_h { |code| code.values_at("code", "count") }] }
  end

  def test_golden_records
    golden = vectors("unanswered-calls.json")
    golden["cases"].each do |each|
      calls = Pshub::Unanswered.new
      each["steps"].each { |step| follow(calls, step, golden, "#{each['title']}, at #{step['at']}") }
    end
  end

  def follow(calls, step, golden, where)
    at = step["at"]
    (step["code"] ? step["series"] || 1 : 0).times do |n|
      error = Pshub::Errors.make(step["code"], step["message"], id: step["id"])
      calls.count(step["task"].sub("{n}", n.to_s), step["queue"], error, at)
    end
    calls.again if step["again"]
    assert_equal step["changed"], calls.changed?(at), where if step.key?("changed")
    assert_equal step["recent"], calls.recent?, where if step.key?("recent")
    return unless step.key?("redisMs")

    text = calls.text(at, step["redisMs"], golden.slice("name", "host", "pid"))
    return assert_equal(step["text"], text, where) if step.key?("text")

    assert_equal step["tasks"], JSON.parse(text)["tasks"].map { |each| each["task"] }, where
  end

  def test_a_name_or_message_that_is_no_text_is_told_all_the_same
    calls = Pshub::Unanswered.new
    calls.count("a\xFF", nil, Pshub::NoSuchTask.new("b\xFE".b), 1000)
    told = JSON.parse(calls.text(1000, 5000, { name: "", host: "h", pid: 1 }))["tasks"].first
    assert_equal ["a\uFFFD", "b\uFFFD"], [told["task"], told["codes"].first["message"]]
  end

  def test_they_are_told_by_task_and_code
    worker(adder).stop
    shop = hub(name: "shop")
    20.times { assert_raises(Pshub::NoWorkers) { shop.call("add:1.0", { x: 1 }) } }
    assert_raises(Pshub::NoSuchTask) { shop.call("nowhere:1.0") }
    assert_raises(Pshub::InvalidArgs) { shop.call("add:1.0", { x: 1 }, timeout: "soon") }
    expected = { "add:1.0" => { "NoWorkers" => 20, "InvalidArgs" => 1 }, "nowhere:1.0" => { "NoSuchTask" => 1 } }
    eventually("their record") { codes_of(shop.id) == expected }
    record = record_of(shop.id)
    assert_equal "shop", record["name"]
    assert_operator server.client.pttl("pshub:refused:#{shop.id}"), :>, 3_500_000
    assert_operator server.client.pttl("pshub:refusing"), :>, 3_500_000
    assert_equal record["seen"], server.client.zscore("pshub:refusing", shop.id)
  end

  def test_a_hub_that_is_closed_tells_at_once
    calling = hub
    assert_raises(Pshub::NoSuchTask) { calling.call("nowhere:1.0") }
    id = calling.id
    # Longer than the rest of its end takes.
    server.client.call("CLIENT", "PAUSE", 300)
    calling.close
    assert_equal({ "nowhere:1.0" => { "NoSuchTask" => 1 } }, codes_of(id))
  end

  def test_a_worker_tells_of_the_calls_of_its_handlers
    how = {
      "well" => ["add:1.0", { x: 1 }, {}], "unknown" => ["nowhere:1.0", {}, {}], "left" => ["left:1.0", {}, {}],
      "wrong" => ["add:1.0", { x: "one" }, {}], "time" => ["add:1.0", { x: 1 }, { timeout: "soon" }],
      "queue" => ["add:1.0", { x: 1 }, { queue: "no queue" }], "none" => ["add:1.0", { x: 1 }, { timeout: 0 }],
      "late" => ["wait:1.0", {}, { timeout: 0.2 }]
    }
    outer = declare("outer:1.0") do |name, ctx|
      task, args, options = how.fetch(name)
      ctx.call(task, args, **options)
    end
    worker(declare("left:1.0") { |_| nil }).stop
    serving = worker(outer, adder, declare("wait:1.0") { |_, ctx| ctx.wait(20) }, queue: "shop")
    calling = hub
    # Also what is refused before its hub has called anything.
    codes = %w[time unknown left wrong queue none late].to_h do |name|
      [name, assert_raises(Pshub::TaskFailed) { calling.call("outer:1.0", name) }.data["nested"]["code"]]
    end
    assert_equal %w[InvalidArgs NoSuchTask NoWorkers InvalidArgs InvalidArgs Expired Timeout], codes.values
    assert_equal 3, calling.call("outer:1.0", "well")
    expected = {
      "nowhere:1.0" => { "NoSuchTask" => 1 }, "left:1.0" => { "NoWorkers" => 1 }, "wait:1.0" => { "Timeout" => 1 },
      "add:1.0" => { "InvalidArgs" => 3, "Expired" => 1 }
    }
    teller = eventually("a record") { server.client.zrange("pshub:refusing", 0, -1).first }
    eventually("their record") { codes_of(teller) == expected }
    assert_equal ["shop", false], [record_of(teller)["name"], teller == calling.id]
    serving.stop
    # And where nothing else is called at all.
    server.client.del("pshub:refusing")
    worker(outer, queue: "shop")
    assert_raises(Pshub::TaskFailed) { hub.call("outer:1.0", "time") }
    eventually("a record of that alone") { server.client.zcard("pshub:refusing") == 1 }
  end

  def test_a_hub_whose_rights_are_of_an_earlier_version_keeps_it_to_itself
    rules = File.readlines(File.join(ROOT, "PROTOCOL.md")).map(&:split).find { |words| words[0, 3] == %w[ACL SETUSER pshub-hub] }
    server.client.call("ACL", "SETUSER", "earlier", *rules.drop(3).reject { |rule| rule.include?(":refus") })
    calling = hub("redis://earlier:secret@127.0.0.1:#{server.port}")
    problems = []
    calling.events.on("problem") { |told| problems << told }
    before = denied
    assert_raises(Pshub::NoSuchTask) { calling.call("nowhere:1.0") }
    eventually("the first try") { denied > before }
    assert_raises(Pshub::NoSuchTask) { calling.call("elsewhere:1.0") }
    calling.close
    assert_equal [[], 1], [problems, denied - before]
    assert_empty server.client.keys("pshub:refused:*")
  ensure
    server.client.call("ACL", "DELUSER", "earlier")
  end

  def denied = server.client.info("commandstats").dig("set", "rejected_calls").to_i
end
