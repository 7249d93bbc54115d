# frozen_string_literal: true

require_relative "helper"

# Connections cut, answers lost, Redis gone and back.
class TestFaults < PshubTest
  # Counts its starts by token.
  def counter(starts) = declare("once:1.0", timeout: 60) { |args| starts[args["token"]] = starts.fetch(args["token"], 0) + 1 }

  def result_of(calling, **args) = calling.call("add:1.0", { x: 1 }, **args)

  # nil while it fails.
  def tried
    yield
  rescue Pshub::HubError
    nil
  end

  def test_a_claim_whose_answer_was_lost_is_found_and_run_once
    between = proxy
    worker(counter(starts = {}), url: between.url)
    calling = hub
    assert_equal 1, calling.call("once:1.0", { token: "warm" })
    # Else it would be the handshake that is lost, or the release of this one.
    eventually("its wait for the bell") { server.worker_waits? && server.held.empty? }
    between.loses_answers = true
    pending = calling.submit("once:1.0", { token: "lost" }, timeout: 60)
    eventually("the claim") { server.held_count == 1 }
    between.cut
    between.loses_answers = false
    assert_equal 1, pending.result
    assert_equal 1, starts["lost"]
    eventually("the release") { server.held.empty? }
  end

  def test_a_push_whose_answer_was_lost_is_run_once
    worker(counter(starts = {}))
    between = proxy
    calling = hub(between.url)
    4.times do |round|
      # Not those of a handshake, nor where the task runs.
      between.loses_answers_from = %("push#{round}")
      pending = calling.submit("once:1.0", { token: "push#{round}" }, timeout: 60)
      eventually("the start") { starts["push#{round}"] }
      between.cut
      between.loses_answers = false
      assert_equal 1, pending.result
      assert_equal 1, starts["push#{round}"]
    end
  end

  def test_a_reply_whose_reading_was_not_answered_is_read_again
    ends = Thread::Queue.new
    worker(declare("end:1.0") { ends.pop })
    between = proxy
    calling = hub(between.url)
    2.times do |round|
      pending = calling.submit("end:1.0", {}, timeout: 60)
      # A round that begins later would find its first answer lost, and no reply be moved at all.
      eventually("the start, and the wait for its reply") { ends.num_waiting == 1 && server.hub_waits? }
      between.loses_answers = true
      ends << round
      eventually("the move") { server.client.keys("pshub:reply:*:read").any? && server.client.keys("pshub:reply:*}").none? }
      between.cut
      between.loses_answers = false
      assert_equal round, pending.result
    end
  end

  def test_cut_connections_lose_no_reply
    hub_side, worker_side = proxy, proxy
    worker(adder, url: worker_side.url)
    calling = hub(hub_side.url)
    calling.call("add:1.0", { x: 1 })
    over = false
    cutting = Thread.new { [hub_side, worker_side].each(&:cut) && delay(0.15, "cuts go on while calls do") until over }
    callers = Array.new(4) do |base|
      Thread.new { Array.new(50) { |n| tried { calling.call("add:1.0", { x: (base * 1000) + n }, timeout: 60) } } }
    end
    callers.each_with_index { |thread, base| assert_equal(Array.new(50) { |n| (base * 1000) + n + 2 }, thread.value) }
    over = true
    cutting.join
    eventually("the releases") { server.held.empty? }
  end

  def test_hub_and_worker_survive_a_restart_of_redis
    own_server
    serving = worker(adder)
    calling = hub
    assert_equal 3, result_of(calling)
    server.kill
    assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }, timeout: 600) }
    server.start
    eventually("a call after the restart") { tried { result_of(calling) } }
    # That one may have gone by a route of before. Redis has forgotten everything, and tells others so until the next beat.
    eventually("its card") { server.client.hlen("pshub:workers").positive? }
    30.times { |x| assert_equal x + 2, calling.call("add:1.0", { x: x }) }
    calling.close
    serving.stop
    assert_empty server.leftovers
  end

  def test_a_redis_that_stands_still
    own_server
    worker(adder)
    calling = hub
    assert_equal 3, result_of(calling)
    down = Thread::Queue.new
    calling.events.on("redis:down") { down << true }
    Process.kill("STOP", server.pid)
    error = assert_raises(Pshub::HubError) { calling.call("add:1.0", { x: 1 }, timeout: 0.5) }
    assert_includes %w[OutcomeUnknown Timeout], error.code
    down.pop
    Process.kill("CONT", server.pid)
    eventually("a call after it") { tried { result_of(calling) } }
  end

  def test_a_full_redis_can_be_drained
    own_server
    going_on = Pshub::Stop.new
    serving = worker(adder, declare("stay:1.0") { |args| going_on.wait && args["n"] }, slots: 2)
    calling = hub
    pending = Array.new(4) { |n| calling.submit("stay:1.0", { n: n }) }
    eventually { server.held_count == 2 && server.waiting == 2 }
    server.client.config(:set, "maxmemory", 1)
    assert_match(/Redis is full/, assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }) }.message)
    going_on.set
    assert_equal [0, 1, 2, 3], pending.map(&:result)
    server.client.config(:set, "maxmemory", 0)
    assert_equal 3, result_of(calling)
    calling.close
    serving.stop
    assert_empty server.leftovers
  end

  def test_a_flushed_redis_gives_the_worker_a_new_identity
    serving = worker(adder, lease: 2)
    before = serving.id
    server.client.flushall
    eventually("the registration") { server.client.hexists("pshub:workers", serving.id) && serving.id != before }
    assert_equal 3, result_of(hub)
  end

  def test_rights_that_lack_are_named
    own_server
    worker(adder)
    server.client.call("ACL", "SETUSER", "poor", "on", ">secret", "resetkeys", "-@all", "~*", *%w[
      +fcall +time +hkeys +hmget +zrangebyscore +info
    ])
    poor = "redis://poor:secret@127.0.0.1:#{server.port}"
    error = assert_raises(Pshub::ConfigError) { worker(adder, url: poor) }
    assert_match(/may not serve a queue: it lacks/, error.message)
    assert_match(/it lacks .*RPUSH/, assert_raises(Pshub::NotEnqueued) { result_of(hub(poor)) }.message)
    wrong = hub("redis://poor:wrong@127.0.0.1:#{server.port}")
    assert_match(/user or password/, assert_raises(Pshub::NotEnqueued) { result_of(wrong) }.message)
  end
end
