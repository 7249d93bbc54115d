# frozen_string_literal: true

require_relative "helper"

# A worker and a caller among thousands of workers: they look at a part of them, and tell less often.
class TestManyWorkers < PshubTest
  KEYS = Pshub::Keys.new("pshub")
  LEASES = KEYS.queue("q").leases

  def setup
    super
    @link = ending(Pshub::Connection.new("test", "commands", server.url, 2.0, Pshub::Events.new), :close)
    @now_ms = (Time.now.to_f * 1000).to_i
  end

  # So many live workers of two slots; the lease of the first one ends first.
  def put_workers(count)
    cards = (0...count).to_h do |n|
      card = { id: "w#{n}", queue: "q", host: "h", pid: n, slots: 2, tasks: yield(n).to_h { |task| [task, "d"] } }
      ["w#{n}", JSON.generate(card)]
    end
    server.client.hset(KEYS.workers, *cards.to_a.flatten)
    server.client.call("ZADD", LEASES, *(0...count).flat_map { |n| [@now_ms + 600_000 + n, "w#{n}"] })
  end

  def slots(task) = Pshub::Catalogue.new(KEYS, Pshub::Events.new).slots(@link, "q", task)

  def lengths_asked = server.client.info("commandstats").fetch("hstrlen", {}).fetch("calls", 0).to_i

  def test_of_a_large_queue_some_are_looked_at_and_the_others_are_counted
    put_workers(1000) { |n| n.even? ? %w[all:1.0 half:1.0] : %w[all:1.0] }
    before = lengths_asked
    assert_equal [2000, 1000], [slots("all:1.0"), slots("half:1.0")]
    assert_operator lengths_asked - before, :<, 200
  end

  def test_the_one_worker_of_a_task_is_found_wherever_it_is
    put_workers(200) { |n| n == 150 ? %w[all:1.0 own:1.0] : %w[all:1.0] }
    drains = JSON.generate(seen: 1, draining: true)
    200.times { |n| server.client.hset(KEYS.stats, "w#{n}", drains) unless n == 150 }
    assert_equal([2, 400, 0], %w[own:1.0 all:1.0 none:1.0].map { |task| slots(task) })
    server.client.hset(KEYS.stats, "w150", drains)
    assert_equal 0, slots("all:1.0")
  end
end
