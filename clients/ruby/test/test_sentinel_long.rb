# frozen_string_literal: true

require_relative "helper"
require_relative "sentinel_group"

# A master that sentinels look after: found, lost, and found again.
class TestSentinel < PshubTest
  def group = @group ||= ending(SentinelGroup.new, :close)
  def runs = @runs ||= []

  def marker
    declare("mark:1.0", timeout: 3) { |args| args["n"].tap { |n| runs << n } }
  end

  # Calls with numbers of their own until it is told to stop: of each its number, the error or nil, and when it ended.
  def call_all_along(calling, stop)
    Thread.new do
      ends = []
      until stop.set?
        error = calling.submit("mark:1.0", { n: ends.size }, timeout: 3).outcome.error
        ends << [ends.size, error]
        stop.wait(0.02) if error
      end
      ends
    end
  end

  def fail_over(signal)
    serving = worker(marker, url: group.url, slots: 2)
    calling = hub(group.url)
    stop = Pshub::Stop.new
    caller = call_all_along(calling, stop)
    eventually { runs.size > 50 }
    group.signal(signal)
    group.until_moved
    count = runs.size
    eventually("calls after the failover") { runs.size > count + 50 }
    stop.set
    ends = caller.value
    group.signal("CONT") if signal == "STOP"
    serving.stop(grace: 0)
    ends
  end

  %w[KILL STOP].each do |signal|
    define_method("test_calls_go_on_when_a_replica_took_over_from_a_master_that_got_#{signal}") do
      ends = fail_over(signal)
      assert_equal runs.uniq.size, runs.size
      unsent, answered = [Pshub::NotEnqueued, NilClass].map { |kind| ends.select { |_, error| error.is_a?(kind) || (kind == NilClass && error.nil?) }.map(&:first) }
      assert_empty unsent & runs
      assert_empty answered - runs
    end
  end

  # It is cut off from its sentinels and not from us: it would confirm all that it is sent, and lose it.
  def test_a_master_that_does_not_know_that_it_is_none_any_more_is_left
    jobs = "pshub:{default}:jobs"
    [group.master, group.replica].each { |each| each.client.call("ACL", "SETUSER", "app", "on", ">app", "~*", "&*", "+@all") }
    old = Redis.new(url: "redis://app:app@127.0.0.1:#{group.master.port}")
    calling = hub(group.url.sub("://", "://app:app@"))
    calling.enqueue("mark:1.0", { n: 0 }, queue: "default")
    eventually { group.replica.client.llen(jobs) == 1 }
    reasons = []
    calling.events.on("redis:down") { |event| reasons << event[:reason] }
    # What sentinels and replicas are there.
    old.call("ACL", "SETUSER", "default", "-@all")
    eventually("the news") { calling.enqueue("mark:1.0", { n: 1 }, queue: "default") && reasons.any? }
    assert_match(/the sentinels report the master at/, reasons.first)
    before = old.llen(jobs)
    assert_equal ["master", 20], [old.info("replication")["role"], Array.new(20) { |n| calling.enqueue("mark:1.0", { n: n }, queue: "default") }.size]
    assert_equal before, old.llen(jobs)
  ensure
    old&.close
  end

  def test_deaf_sentinels_are_passed_over
    group.sentinels.first(2).each { |deaf| Process.kill("STOP", deaf.pid) }
    sentinels = Pshub::Sentinels.new(Pshub::Target.read(group.url))
    # Another one is asked first each time.
    6.times { assert_equal group.master.port, sentinels.master.port }
  end

  def test_a_replica_that_is_named_as_the_master_is_not_used
    replica = Server.new("--replicaof", "127.0.0.1", group.master.port.to_s)
    sentinels = Pshub::Sentinels.new(Pshub::Target.read(group.url))
    sentinels.define_singleton_method(:master) { Pshub::Address.new("127.0.0.1", replica.port) }
    # Nothing but its own word is against it.
    sentinels.define_singleton_method(:hold) { |*| nil }
    link = Pshub::Connection.new("test", "commands", sentinels, 2.0, Pshub::Events.new)
    refute link.wait_ready(Pshub::Stop.new, 0)
    assert_match(/what the sentinels name as the master, 127.0.0.1:#{replica.port}, is a slave/, link.down_reason)
  ensure
    link&.close
    replica&.close
  end

  def test_what_sentinels_do_not_know_is_told
    error = assert_raises(Pshub::NotEnqueued) { hub(group.url.sub("mymaster", "other")).call("mark:1.0", { n: 1 }) }
    assert_match(/no sentinel knows the address of the master 'other' .*it knows no master 'other'/, error.message)
  end
end
