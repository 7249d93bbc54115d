# frozen_string_literal: true

require_relative "helper"

# What Redis says is held, and the worker does not know.
class TestReconcile < PshubTest
  # A crew and a queue: Redis says that the worker holds what its slots do not know of at first.
  class Holding
    attr_reader :put_back, :released_again, :problems

    def initialize
      @put_back = []
      @released_again = []
      @problems = []
    end

    def worker_id = "w"
    def problem(where, _reason) = @problems << where
    def release_command(_worker, ids) = [ids]
    def one(ids) = @released_again << ids
    def ignore_claims_of(*) = nil
    def handback(_connection, _worker, _side, ids) = @put_back << ids
  end

  def setup
    super
    @holding = Holding.new
    @slots = Pshub::Slots.new(Pshub::SlotPool.new(1, 1))
    @reconcile = Pshub::Roles::Reconcile.new(@holding, @holding, @holding, @slots)
  end

  def test_two_looks_of_beats_one_behind_the_other_put_it_back
    @reconcile.look(["job:a"], 1, Pshub::Clock.now)
    sleep 0.002
    @reconcile.look(["job:a"], 2, Pshub::Clock.now)
    assert_equal [["job:a"]], @holding.put_back
  end

  def test_it_stays_as_long_as_both_looks_may_have_met_its_claim_on_its_way
    sent_at = Pshub::Clock.now
    3.times { |n| @reconcile.look(["job:a"], n, sent_at) }
    assert_empty @holding.put_back
    sleep 0.002
    @reconcile.look(["job:a"], 4, Pshub::Clock.now)
    assert_equal [["job:a"]], @holding.put_back
  end

  def test_what_came_and_ended_between_two_looks_is_no_forgotten_end_where_the_second_beat_was_answered_before
    @reconcile.look(["r"], 1, Pshub::Clock.now)
    @slots.know("r")
    sleep 0.002
    sent_at = Pshub::Clock.now
    @slots.released(["r"])
    @reconcile.look(["r"], 2, sent_at)
    assert_equal [[], []], [@holding.problems, @holding.released_again]
    sleep 0.002
    @reconcile.look(["r"], 3, Pshub::Clock.now)
    assert_equal [["failover"], [["r"]]], [@holding.problems, @holding.released_again]
  end

  def test_a_job_that_came_and_ended_between_two_looks_does_not_go_back
    @reconcile.look(["job:a"], 1, Pshub::Clock.now)
    @slots.know("job:a")
    sleep 0.002
    sent_at = Pshub::Clock.now
    @slots.forget(["job:a"])
    @reconcile.look(["job:a"], 2, sent_at)
    assert_empty @holding.put_back
  end
end
