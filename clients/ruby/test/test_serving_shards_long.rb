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
    assert_equal [following.pid] * 3, jobs.map(&:result)
    eventually("the release") { server.held.empty? }
    NAMES.each { |name| assert_equal 1, server.client.zcard("pshub:{#{name}}:leases") }
  end
end
