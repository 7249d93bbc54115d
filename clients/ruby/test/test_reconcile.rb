# frozen_string_literal: true

require_relative "helper"

# What Redis says is held, and the worker does not know.
class TestReconcile < PshubTest
  # A crew, a queue and slots: the worker holds a job that it does not know of.
  class Holding
    attr_reader :put_back

    def initialize = @put_back = []
    def worker_id = "w"
    def knows?(_id) = false
    def released?(_id) = false
    def ignore_claims_of(*) = nil
    def handback(_connection, _worker, _side, ids) = @put_back << ids
  end

  def setup
    super
    @holding = Holding.new
    @reconcile = Pshub::Roles::Reconcile.new(@holding, @holding, nil, @holding)
  end

  def test_two_looks_of_beats_one_behind_the_other_put_it_back
    @reconcile.look(["job:a"], 1, Pshub::Clock.now)
    @reconcile.look(["job:a"], 2, Pshub::Clock.now + 1)
    assert_equal [["job:a"]], @holding.put_back
  end

  def test_it_stays_while_the_answer_of_an_earlier_claim_is_coming_in
    claimed_at = Pshub::Clock.now - 1
    3.times { |n| @reconcile.look(["job:a"], n, Pshub::Clock.now + n, claimed_at) }
    assert_empty @holding.put_back
    @reconcile.look(["job:a"], 4, Pshub::Clock.now + 4, Pshub::Clock.now + 1)
    assert_equal [["job:a"]], @holding.put_back
  end

  def test_it_stays_as_long_as_both_looks_may_have_met_its_claim_on_its_way
    sent_at = Pshub::Clock.now
    3.times { |n| @reconcile.look(["job:a"], n, sent_at) }
    assert_empty @holding.put_back
    @reconcile.look(["job:a"], 4, Pshub::Clock.now + 1)
    assert_equal [["job:a"]], @holding.put_back
  end

  def test_what_is_on_its_way_over_a_slow_link_runs_once
    runs = 0
    between = proxy
    worker(declare("large:1.0") { runs += 1 }, url: between.url, queue: "q", lease: 2)
    calling = hub
    assert_equal 1, calling.call("large:1.0", "warm")
    between.rate = 250_000
    assert_equal 2, calling.call("large:1.0", "x" * 600_000, timeout: 20)
  ensure
    between.rate = nil
  end
end
