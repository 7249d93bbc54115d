# frozen_string_literal: true

require_relative "helper"

# Answers lost, Redis gone and back. The conformance checks cut connections and lose the answers of claims and pushes.
class TestFaults < PshubTest
  def result_of(calling, **args) = calling.call("add:1.0", { x: 1 }, **args)

  # nil while it fails.
  def tried
    yield
  rescue Pshub::HubError
    nil
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

  def test_a_first_look_that_takes_longer_than_redis_may_be_away_is_waited_for
    own_server
    worker(adder)
    calling = hub
    Process.kill("STOP", server.pid)
    pending = calling.submit("add:1.0", { x: 1 }, timeout: 60)
    answer = Thread.new { pending.outcome }
    delay(1.3, "nothing is heard for more than a second, and nothing says that Redis is away")
    Process.kill("CONT", server.pid)
    assert_equal [true, 3], answer.value.to_h.values_at(:ok, :value)
  ensure
    Process.kill("CONT", server.pid)
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
