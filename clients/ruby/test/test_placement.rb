# frozen_string_literal: true

require_relative "sharded"

# Where a hub puts jobs with keys while not all places know of a change.
class TestPlacement < PshubTest
  include Sharded
  NAMES = %w[default shard.2.default].freeze
  # Belonged into the shard, and belongs into the queue itself now.
  KEY = ("a".."z").find { |key| Pshub::Shards.home_of(NAMES, key) == NAMES[1] }

  def setup
    super
    worker(declare("sync:1.0", keyed: "ordered") { nil }).stop
    spread(1, NAMES)
    Pshub::Shards.new(3, NAMES.first(1), false, NAMES).note(link, KEYS, NAMES[0])
    @calling = hub
  end

  def enqueue = @calling.enqueue("sync:1.0", { n: 1 }, key: KEY, queue: "default")
  def looks = server.client.info("commandstats").fetch("get", {}).fetch("calls", 0).to_i
  def lines = server.client.keys("*:line:*")

  def test_a_place_that_never_hears_of_it_ends_as_not_enqueued
    error = assert_raises(Pshub::NotEnqueued) { enqueue }
    assert_match(/The shards of queue default are changing, and not all of them know the new number yet/, error.message)
    assert_equal "sync:1.0", error.task
    assert_empty lines + server.client.keys("*:jobs")
  end

  def test_a_place_that_hears_of_it_later_is_looked_at_again
    before = looks
    enqueuing = Thread.new { enqueue }
    eventually("some looks") { looks > before + 3 }
    assert_empty lines
    spread(3, NAMES.first(1), earlier: NAMES)
    assert_equal NAMES[0], enqueuing.value.queue
    assert_equal 1, server.client.llen("pshub:{default}:line:sync:1.0:#{KEY}")
  end
end
