# frozen_string_literal: true

require_relative "helper"

# What was started once is never said not to have been, and what ended is not run again, whatever Redis forgets.
class TestTruth < PshubTest
  CALLS = "pshub:{default}:calls"
  REPLIES = "pshub:reply:{h}"

  def setup
    super
    @started = Thread::Queue.new
  end

  def noting(**options) = declare("note:1.0", **options) { |args| (@started << args["n"]) && args["n"] }

  # A request as a caller or an earlier worker left it; +at+ is Redis' time in microseconds, and not before all else where the claim
  # is not to see it.
  def text_of(id, task: "note:1.0", ttl: 60_000, at: now_us, blind: false, again: false, **more)
    head = { at: at, ttl: ttl, id: id, **(again ? { idempotent: true } : {}) }
    body = { task: task, args: { n: id }, result_queue: REPLIES }
    JSON.generate(blind ? { **body, **head, **more } : { **head, **body, **more })
  end

  def now_us = server.client.time.then { |seconds, micros| (seconds * 1_000_000) + micros }

  def reply = JSON.parse(eventually("the reply") { server.client.lpop(REPLIES) })
  def settled = eventually("the release") { server.held.empty? }

  # Leaves as a deploy has it leave, while a call runs. Returns its text in the list.
  def left_text
    stays = Pshub::Stop.new
    leaving = worker(declare("note:1.0", idempotent: true, timeout: 20) { |_| stays.wait })
    pending = hub.submit("note:1.0", { n: 1 }, timeout: 20)
    eventually("the start") { leaving.busy == 1 }
    leaving.stop(grace: 0)
    stays.set
    [pending, server.client.lindex(CALLS, 0)]
  end

  def test_a_call_given_up_by_a_leaving_worker_keeps_the_mark
    pending, text = left_text
    assert_match(/\A\{"at":\d+,"ttl":\d+,"id":"[\w-]+","idempotent":true,"task":.*,"started":true\}\z/, text)
    assert_empty server.held
    worker(noting(idempotent: true))
    assert_equal 1, pending.result
  end

  def test_a_call_that_may_have_been_started_never_fails_as_one_that_was_not
    strict = declare("note:1.0", args: { type: "object", properties: { n: { type: "string" } } }) { |args| args["n"] }
    serving = worker(strict, max_payload_bytes: 1024)
    old = now_us - 60_000_000
    { "late" => text_of("late", at: old, blind: true, started: true),
      "lost" => text_of("lost", at: old, blind: true, losses: 1),
      "wrong" => text_of("wrong", args: { n: 1 }, started: true),
      "large" => text_of("large", args: { n: "x" * 3000 }, started: true),
      "foreign" => text_of("foreign", task: "other:1.0", at: old, blind: true, started: true),
      "unserved" => text_of("unserved", task: "other:1.0", ttl: 0, started: true) }.each do |id, text|
      server.push(text)
      error = reply.then { |told| assert_equal(id, told["id"]) && told["error"] }
      assert_equal ["WorkerLost", false], error.values_at("code", "retryable"), id
      assert_match(/\AAn earlier worker may have run .* It was not run again: /, error["message"])
      settled
    end
    published = -> { JSON.parse(server.client.hget("pshub:failures", serving.id) || "{}").fetch("note:1.0", []) }
    eventually("what is published") { published.call.size == 4 }
    assert_equal ["WorkerLost"], published.call.map { |each| each["code"] }.uniq
  end

  # As one that died left them.
  def lost(held)
    server.client.hset("pshub:{default}:held:gone", *held.to_a.flatten)
    server.client.zadd("pshub:{default}:leases", 1, "gone")
  end

  def test_what_is_not_run_again_is_answered_after_its_worker_died
    once = text_of("once", ttl: 60_000)
    often = text_of("often", ttl: 60_000, again: true, losses: 2)
    # One worker left, and the one that adopted from it died before it had answered.
    left = text_of("left", ttl: 60_000)
    lost("once" => once, "often" => often, "lost:left" => left, "lost:none" => "no request")
    worker(noting)
    errors = Array.new(3) { reply.then { |told| [told["id"], told["error"].values_at("code", "message")] } }.to_h
    one = ["WorkerLost", "The worker that ran note:1.0 crashed or lost its lease."]
    many = ["WorkerLost", "3 workers that ran note:1.0 crashed or lost their lease."]
    assert_equal({ "once" => one, "often" => many, "left" => one }, errors)
    settled
    assert_equal [0, 0, 0], [@started.size, server.waiting, server.client.llen(REPLIES)]
  end

  # A replica was promoted that had heard of the request, and neither of its claim nor of its end.
  def test_what_ended_before_a_failover_is_not_run_again_from_the_list
    serving = worker(noting)
    problems = problems_of(serving)
    text = text_of("a1")
    server.push(text)
    assert_equal "a1", reply["result"]
    settled
    server.push(text)
    error = reply["error"]
    assert_equal ["WorkerLost", "note:1.0 had already run when Redis failed over, and was not run again."],
                 error.values_at("code", "message")
    settled
    assert_equal 1, @started.size
    assert_includes problems, "failover"
  end

  def problems_of(serving) = [].tap { |found| serving.events.on("problem") { |event| found << event[:where] } }

  def test_what_was_released_is_remembered_for_a_bounded_time
    recent = Pshub::RecentIds.new(3)
    ids = Array.new(8) { |n| "i#{n}" }
    ids.each { |id| recent.add(id) }
    assert_equal ids.last(5), ids.select { |id| recent.include?(id) }
  end
end
