# frozen_string_literal: true

require_relative "helper"

# Workers that are killed, stopped, blocked, or told to leave.
class TestLostWorkers < PshubTest
  def pid_of_holder
    holder = server.held.first.split(":").last
    JSON.parse(server.client.hget("pshub:workers", holder))["pid"]
  end

  def test_a_killed_worker_loses_what_may_not_run_twice
    workers = Array.new(2) { worker_process }
    calling = hub
    begun = Pshub::Clock.now
    assert_raises(Pshub::WorkerLost) { calling.call("die:1.0", {}, timeout: 20) }
    assert_operator Pshub::Clock.now - begun, :<, 8
    assert_equal 1, workers.count(&:gone?)
    eventually("the release") { server.held.empty? }
  end

  def test_an_idempotent_call_of_a_killed_worker_is_run_by_another_one
    2.times { worker_process }
    again = hub.submit("again:1.0", { ms: 1500 }, timeout: 20)
    eventually("the claim") { server.held_count == 1 }
    victim = pid_of_holder
    Process.kill("KILL", victim)
    refute_equal victim, again.result
    eventually("the release") { server.held.empty? }
  end

  def test_sigterm_finishes_what_runs_and_leaves_the_rest
    process = worker_process("--slots", "1", "--grace", "5")
    calling = hub
    running = calling.submit("stubborn:1.0", { ms: 3000 }, timeout: 15)
    eventually { server.held_count == 1 }
    waiting = calling.submit("add:1.0", { x: 1 }, timeout: 15)
    eventually { server.waiting == 1 }
    process.signal("TERM")
    # Sooner than with the next beat.
    eventually("the word", patience: 0.4) { server.client.hvals("pshub:stats").any? { |text| text.include?('"draining":true') } }
    assert_equal "done", running.result
    assert_equal 0, process.wait
    assert_equal [0, 1], [server.held_count, server.waiting]
    worker_process
    assert_equal 3, waiting.result
  end

  def test_the_end_of_the_grace_hands_back_what_may_run_twice
    process = worker_process("--grace", "0.3")
    calling = hub
    stubborn = calling.submit("stubborn:1.0", { ms: 15_000 }, timeout: 20)
    again = calling.submit("again:1.0", { ms: 5000 }, timeout: 20)
    eventually { server.held_count == 2 }
    process.signal("TERM")
    assert_match(/stopped/, assert_raises(Pshub::WorkerLost) { stubborn.result }.message)
    assert_equal 0, process.wait(5)
    following = worker_process
    assert_equal following.pid, again.result
  end

  def test_a_second_signal_ends_it_at_once
    process = worker_process
    hub.submit("stubborn:1.0", { ms: 15_000 }, timeout: 3)
    eventually { server.held_count == 1 }
    process.signal("TERM")
    sleep 0.4
    process.signal("TERM")
    assert_equal 128 + 15, process.wait(2)
  end

  def test_handlers_that_compute_cost_no_lease
    process = worker_process("--lease", "2")
    before = server.client.hkeys("pshub:workers")
    pending = Array.new(3) { hub.submit("busy:1.0", { ms: 4500 }, timeout: 15) }
    pending.each { |each| assert_operator each.result, :>, 0 }
    assert_equal before, server.client.hkeys("pshub:workers")
    refute process.gone?
  end

  def test_a_worker_stopped_beyond_its_lease_settles_nothing
    process = worker_process("--lease", "2")
    calling = hub
    pending = calling.submit("stubborn:1.0", { ms: 1500 }, timeout: 20)
    eventually { server.held_count == 1 }
    process.signal("STOP")
    worker_process
    assert_raises(Pshub::WorkerLost) { pending.result }
    before = server.client.hkeys("pshub:workers")
    process.signal("CONT")
    eventually("its new identity") { (server.client.hkeys("pshub:workers") - before).any? }
    assert_includes process.said, "the lease ended"
    20.times { |x| assert_equal x + 2, calling.call("add:1.0", { x: x }) }
    eventually("the release") { server.held.empty? }
  end

  def test_a_handler_that_is_given_up_gives_its_slot_to_others
    worker_process("--slots", "1")
    calling = hub
    assert_raises(Pshub::Timeout) { calling.call("stubborn:1.0", { ms: 6000 }, timeout: 1) }
    begun = Pshub::Clock.now
    assert_equal 3, calling.call("add:1.0", { x: 1 }, timeout: 5)
    assert_operator Pshub::Clock.now - begun, :<, 3
  end

  def test_a_job_of_a_lost_worker_goes_back_and_is_kept_the_third_time
    dead = "gone"
    job = ->(losses) { %({"at":1795220163659000,"ttl":0,"id":"j#{losses}","task":"add:1.0","args":{"x":1},"losses":#{losses}}) }
    server.client.hset("pshub:{default}:held:#{dead}", "job:j1", job[1], "job:j2", job[2])
    server.client.zadd("pshub:{default}:leases", 1, dead)
    worker(adder, job_slots: 0)
    eventually("the adoption") { server.held.empty? }
    assert_equal [job[1].sub('"losses":1', '"losses":2')], server.client.lrange("pshub:{default}:jobs", 0, -1)
    failure = '"code":"WorkerLost","message":"3 workers that ran it died"'
    told = %(,"job":{"tries":1,"errors":[{"at":AT,#{failure}}]},"task")
    kept = server.client.zrange("pshub:{default}:dead", 0, -1).map { |text| text.sub(/("errors":\[\{"at":)\d+/, '\1AT') }
    assert_equal [job[2].sub('"losses":2', '"losses":3').sub(',"task"', told)], kept
  end
end
