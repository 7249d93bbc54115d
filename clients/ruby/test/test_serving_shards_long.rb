# frozen_string_literal: true

require_relative "sharded"

# Workers that leave a shard late, and workers that are killed.
class TestServingShardsLong < PshubTest
  include Sharded

  def test_a_killed_one_is_adopted_from_in_every_place
    spread(1, NAMES)
    victim = worker_process("--slots", "8", "--job-slots", "4")
    eventually("all shards") { places.size == 3 }
    calling = hub
    going_on = gate
    again = NAMES.map { |name| calling.submit("again:1.0", { until: going_on.path }, queue: name) }
    # In turn.
    jobs = Array.new(3) { calling.enqueue("again:1.0", { until: going_on.path }, tracked: true) }
    eventually("the claims") { server.held_count == 6 }
    assert_equal(NAMES, server.held.map { |key| key[/\{(.*)\}/, 1] }.sort)
    victim.signal("KILL")
    going_on.open
    following = worker_process("--slots", "8", "--job-slots", "4")
    assert_equal [following.pid] * 3, again.map(&:result)
    assert_equal [following.pid] * 3, jobs.map { |job| job.result }
    eventually("the release") { server.held.empty? }
    NAMES.each { |name| assert_equal 1, server.client.zcard("pshub:{#{name}}:leases") }
  end

  def test_a_shard_that_is_none_any_more_is_served_while_anything_waits_there_or_another_holds_something
    busy = worker(stay, slots: 2, job_slots: 2)
    spread(1, NAMES)
    eventually("all shards") { places == NAMES }
    calling = hub
    held = calling.enqueue("stay:1.0", { n: 1 }, queue: NAMES[1], tracked: true)
    eventually("the claim") { busy.busy == 1 }
    other = serve(stay, count: 6, slots: 2, job_slots: 2)
    waiting = calling.enqueue("stay:1.0", { n: 2 }, queue: NAMES[2], tracked: true, delay_ms: 3000)
    ended = Thread::Queue.new
    [busy, other].each { |each| each.events.on("worker:stopped") { |event| ended << event[:queue] } }
    spread(2, NAMES.first(1))
    NAMES.drop(1).each { |name| server.client.set("pshub:{#{name}}:shards", server.client.get("pshub:{default}:shards")) }
    # Both go on beating there.
    leases = -> { NAMES.drop(1).flat_map { |name| server.client.zrange("pshub:{#{name}}:leases", 0, -1, with_scores: true).map(&:last) } }
    first = leases.call
    eventually("further beats") { first.size == 4 && leases.call.size == 4 && leases.call.min > first.max + 2500 }
    assert_empty ended
    @going_on.set
    assert_equal([1, 2], [held, waiting].map { |job| job.result(timeout_ms: 20_000) })
    eventually("the end of both") { ended.size == 4 }
    assert_equal [NAMES.first(1) * 2, (NAMES.drop(1) * 2).sort], [places, Array.new(4) { ended.pop }.sort]
  end
end
