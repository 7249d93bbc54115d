# frozen_string_literal: true

require_relative "helper"

# Jobs that were given up: looked at, tried again, deleted.
class TestDeadJobs < PshubTest
  DEAD = "pshub:{default}:dead"
  JOBS = "pshub:{default}:jobs"
  PLAIN = '{"at":1,"ttl":0,"id":"a","task":"x:1.0","args":{}}'

  def failing
    declare("fail:1.0", retries: 1, backoff: 1) do |args|
      args.is_a?(Hash) && args.key?("card") ? args : raise("no {card}")
    end
  end

  def final = declare("final:1.0") { raise Pshub::TaskError.new("gone", retryable: false) }
  def now_ms = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)

  def bury(calling, count)
    ids = calling.enqueue_many(Array.new(count) { |n| ["fail:1.0", { n: n }] }, tracked: true).ids
    eventually("their ends") { calling.dead("default").count >= count }
    ids
  end

  def test_they_are_listed_with_why
    worker(failing, final)
    calling = hub(name: "shop")
    begun_ms = now_ms
    dead = calling.dead("default")
    id, = bury(calling, 1)
    calling.enqueue("final:1.0", [1])
    eventually("the other one") { dead.count == 2 }
    latest, first = dead.list
    assert_equal ["final:1.0", [1], 1, "shop"], latest.to_h.values_at(:task, :args, :tries, :from)
    assert_equal [id, "default", "fail:1.0", { "n" => 0 }, 2, 0], first.to_h.values_at(:id, :queue, :task, :args, :tries, :following)
    assert_equal [["TaskFailed", "no {card}"]] * 2, first.errors.map { |error| error.values_at("code", "message") }
    assert_includes begun_ms..now_ms, first.at_ms
    assert_equal ["final:1.0"], dead.list(limit: 1).map(&:task)
    { { task: "fail:1.0" } => 1, { ids: [id] } => 1, { ids: [] } => 0, { code: "TaskFailed" } => 2, { code: "Timeout" } => 0,
      { before_ms: first.at_ms } => 0, { before_ms: now_ms + 60_000 } => 2,
      { task: "fail:1.0", code: "Timeout" } => 0 }.each do |matching, count|
      assert_equal [count, count], [dead.count(**matching), dead.list(**matching).size], matching.inspect
    end
  end

  def test_a_filter_that_is_none_must_not_mean_all_of_them
    server.client.zadd(DEAD, 1, PLAIN)
    dead = hub.dead("default")
    %i[count list retry delete].each do |act|
      error = assert_raises(Pshub::InvalidArgs) { dead.public_send(act, older: 5) }
      assert_equal "dead jobs: there is no filter 'older'. Known: ids, task, code, key, before_ms.", error.message
      assert_match(/ids must be an array/, assert_raises(Pshub::InvalidArgs) { dead.public_send(act, ids: "a") }.message)
    end
    assert_equal 1, dead.count
  end

  def test_all_are_tried_again_or_those_that_match
    first = worker(failing, final)
    calling = hub
    dead = calling.dead("default")
    ids = bury(calling, 45)
    calling.enqueue("final:1.0", [1])
    eventually("the other one") { dead.count == 46 }
    first.stop
    assert_equal 45, dead.retry(task: "fail:1.0")
    assert_equal [1, 45], [dead.count, server.client.llen(JOBS)]
    again = JSON.parse(server.client.lindex(JOBS, 0))
    assert_equal [0, 2, 0], [again["job"]["tries"], again["job"]["errors"].size, again["ttl"]]
    assert_equal "waiting", calling.job(ids[0]).status.state
    worker(failing, final)
    eventually("their ends") { dead.count == 46 }
    assert_equal 0, dead.retry(ids: ["nobody"])
  end

  def test_one_is_tried_again_with_other_arguments
    worker(failing)
    calling = hub
    id, = bury(calling, 1)
    dead = calling.dead("default")
    assert_match(/The arguments of the task: arguments not JSON/, assert_raises(Pshub::InvalidArgs) { dead.retry(args: Object.new, ids: [id]) }.message)
    given = { "card" => ['a "quoted" }', { "deep" => [1] }] }
    assert_equal 1, dead.retry(args: given, ids: [id])
    assert_equal given, calling.job(id).result
  end

  def test_they_are_deleted
    worker(failing)
    calling = hub
    ids = bury(calling, 3)
    dead = calling.dead("default")
    assert_equal 1, dead.delete(ids: ids.first(1))
    assert_equal ids.drop(1).sort, dead.list.map(&:id).sort
    assert_equal 2, dead.delete
    assert_equal 0, server.client.exists(DEAD)
  end
end
