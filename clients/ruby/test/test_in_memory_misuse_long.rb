# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/minitest"

# InMemory used wrongly, or by far too much: it says so, and ends.
class TestInMemoryMisuse < PshubTest
  include Pshub::MinitestHelpers

  def setup
    super
    ran = @ran = []
    kits = @kits = []
    @count = declare("count:1.0", retries: 0) { |args| ran.push(args["number"]).size }
    @again = declare("again:1.0", retries: 0) do
      kits.last.hub.enqueue("again:1.0")
      nil
    rescue Pshub::HubClosed
      nil
    end
    @nest = declare("nest:1.0", retries: 0) do |args|
      kits.last.hub.enqueue("nest:1.0", { depth: args["depth"] - 1 }) if args["depth"].positive?
      nil
    end
  end

  def test_drain_gives_up_in_time_where_a_job_enqueues_the_next_without_end
    %w[run wait].each do |jobs|
      @kits << (kit = in_memory(@again, jobs: jobs))
      kit.hub.enqueue(@again)
      error = assert_raises(RuntimeError) { kit.drain(timeout: 0.5) }
      assert_match(/drain timed out after 0.5 s/, error.message)
      kit.close
    end
  end

  def test_inline_jobs_that_wait_for_more_than_there_are_slots
    with_constant(Pshub::InlineHub, :TIMEOUT_S, 0.5) do
      @kits << (kit = in_memory(@nest, jobs: "inline", worker: { slots: 2 }))
      kit.hub.enqueue(@nest, { depth: 1 })
      error = assert_raises(RuntimeError) { kit.hub.enqueue(@nest, { depth: 2 }) }
      assert_match(/than the worker has slots/, error.message)
    end
  end

  def test_the_clock_says_that_work_never_ends
    with_constant(Pshub::TestClock, :ENDLESS_S, -1.0) do
      error = assert_raises(RuntimeError) { in_memory.clock.advance(1) }
      assert_match(/Do jobs enqueue each other endlessly/, error.message)
    end
  end

  def test_a_kit_that_was_closed_says_so
    kit = in_memory(@count)
    kit.hub.enqueue(@count, { number: 1 })
    kit.close
    acts = [-> { kit.drain }, -> { kit.start_worker }, -> { kit.worker.start }, -> { kit.redis.go_away }, -> { kit.clock.advance(1) },
            -> { kit.redis.command("PING") }]
    acts.each { |act| assert_match(/This kit was closed/, assert_raises(Pshub::ConfigError, &act).message) }
    assert_enqueued(kit, @count, { number: 1 })
    kit.close
  end

  private

  def with_constant(owner, name, value)
    before = owner.const_get(name)
    set_constant(owner, name, value)
    yield
  ensure
    set_constant(owner, name, before)
  end

  def set_constant(owner, name, value)
    owner.send(:remove_const, name)
    owner.const_set(name, value)
  end
end
