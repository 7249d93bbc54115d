# frozen_string_literal: true

require_relative "helper"

# Workers that are killed or stopped, or whose handlers do not end.
class TestLostWorkersLong < PshubTest
  def pid_of_holder
    holder = server.held.first.split(":").last
    JSON.parse(server.client.hget("pshub:workers", holder))["pid"]
  end

  def test_an_idempotent_call_of_a_killed_worker_is_run_by_another_one
    2.times { worker_process }
    going_on = gate
    again = hub.submit("again:1.0", { until: going_on.path })
    eventually("the claim") { server.held_count == 1 }
    victim = pid_of_holder
    Process.kill("KILL", victim)
    going_on.open
    refute_equal victim, again.result
    eventually("the release") { server.held.empty? }
  end

  def test_handlers_that_compute_cost_no_lease
    process = worker_process("--lease", "2")
    before = server.client.hkeys("pshub:workers")
    pending = Array.new(3) { hub.submit("busy:1.0", { ms: 4500 }) }
    pending.each { |each| assert_operator each.result, :>, 0 }
    assert_equal before, server.client.hkeys("pshub:workers")
    refute process.gone?
  end

  def test_a_worker_stopped_beyond_its_lease_settles_nothing
    process = worker_process("--lease", "2")
    calling = hub
    going_on = gate
    pending = calling.submit("stubborn:1.0", { until: going_on.path })
    eventually { server.held_count == 1 }
    process.signal("STOP")
    worker_process
    assert_raises(Pshub::WorkerLost) { pending.result }
    before = server.client.hkeys("pshub:workers")
    going_on.open
    process.signal("CONT")
    eventually("its new identity") { (server.client.hkeys("pshub:workers") - before).any? }
    assert_includes process.said, "the lease ended"
    20.times { |x| assert_equal x + 2, calling.call("add:1.0", { x: x }) }
    eventually("the release") { server.held.empty? }
  end

  def test_a_handler_that_is_given_up_gives_its_slot_to_others
    worker_process("--slots", "1")
    calling = hub
    assert_raises(Pshub::Timeout) { calling.call("stubborn:1.0", { until: gate.path }, timeout: 1) }
    assert_equal 3, calling.call("add:1.0", { x: 1 })
  end
end
