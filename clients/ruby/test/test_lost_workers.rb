# frozen_string_literal: true

require_relative "helper"

# Workers that are told to leave.
class TestLostWorkers < PshubTest
  def test_sigterm_finishes_what_runs_and_leaves_the_rest
    process = worker_process("--slots", "1", "--grace", "60")
    calling = hub
    going_on = gate
    running = calling.submit("stubborn:1.0", { until: going_on.path })
    eventually { server.held_count == 1 }
    waiting = calling.submit("add:1.0", { x: 1 }, timeout: 60)
    eventually { server.waiting == 1 }
    process.signal("TERM")
    eventually("the word") { server.client.hvals("pshub:stats").any? { |text| text.include?('"draining":true') } }
    going_on.open
    assert_equal "done", running.result
    assert_equal 0, process.wait
    assert_equal [0, 1], [server.held_count, server.waiting]
    worker_process
    assert_equal 3, waiting.result
  end

  def test_the_end_of_the_grace_hands_back_what_may_run_twice
    process = worker_process("--grace", "0.3")
    calling = hub
    stubborn = calling.submit("stubborn:1.0", { until: gate.path })
    going_on = gate
    again = calling.submit("again:1.0", { until: going_on.path })
    eventually { server.held_count == 2 }
    process.signal("TERM")
    assert_match(/stopped/, assert_raises(Pshub::WorkerLost) { stubborn.result }.message)
    assert_equal 0, process.wait
    going_on.open
    following = worker_process
    assert_equal following.pid, again.result
  end

  def test_a_second_signal_ends_it_at_once
    process = worker_process
    hub.submit("stubborn:1.0", { until: gate.path })
    eventually { server.held_count == 1 }
    process.signal("TERM")
    delay 0.4, "two signals within a quarter of a second count as one"
    process.signal("TERM")
    assert_equal 128 + 15, process.wait
  end
end
