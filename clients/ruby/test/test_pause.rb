# frozen_string_literal: true

require_relative "helper"

# A paused queue: its workers take nothing, finish what they hold, and go on when it is resumed.
class TestPause < PshubTest
  PAUSED = "pshub:{default}:paused"

  def setup
    super
    @started = []
    @going_on = Pshub::Stop.new
  end

  def note = declare("note:1.0") { |args| (@started << args["n"]).last }

  def stay
    declare("stay:1.0", timeout: 20) do |args|
      @started << args["n"]
      @going_on.wait(20)
      args["n"]
    end
  end

  # What a worker tells of pauses from now on.
  def told_by(worker)
    told = []
    worker.events.on("queue:paused") { |event| told << event }
    worker.events.on("queue:resumed") { |event| told << { resumed: event[:queue] } }
    told
  end

  def unblocks = server.client.info("commandstats").fetch("client|unblock", {}).fetch("calls", 0).to_i

  def test_a_worker_that_waits_takes_nothing_until_it_is_resumed
    serving = worker(note)
    told = told_by(serving)
    calling = hub
    assert_equal 1, calling.call("note:1.0", { n: 1 })
    eventually("the wait") { server.worker_waits? }
    before = unblocks
    paused_ms = calling.pause("default")
    eventually("the word") { told.any? }
    assert_equal [{ worker: serving.id, queue: "default", paused_ms: paused_ms }], told
    # The wait did not end by itself.
    eventually("its end") { unblocks > before && !server.worker_waits? }
    assert_raises(Pshub::Timeout) { calling.call("note:1.0", { n: 2 }, timeout: 0.3) }
    waiting = calling.submit("note:1.0", { n: 3 })
    eventually("the push") { server.waiting == 2 }
    assert_equal true, calling.resume("default")
    assert_equal 3, waiting.result
    assert_equal [1, 3], @started
    eventually("the other word") { told.last == { resumed: "default" } }
  end

  def test_a_paused_worker_stops
    serving = worker(note)
    told = told_by(serving)
    hub.pause("default")
    eventually("the word") { told.any? }
    serving.stop
    assert_equal [PAUSED], server.leftovers
  end

  def test_what_cannot_be_paused_is_said
    calling = hub
    ["", "a b", "{q}", "x" * 65, nil, 7].product(%i[pause resume]).each do |name, change|
      error = assert_raises(Pshub::ConfigError) { calling.public_send(change, name) }
      assert_includes error.message, "is not the name of a queue: 1 to 64 letters"
    end
    calling.close
    assert_raises(Pshub::HubClosed) { calling.pause("default") }
    error = assert_raises(Pshub::NotEnqueued) { hub("redis://127.0.0.1:1").resume("default") }
    assert_match(/\AQueue default could not be resumed: /, error.message)
  end
end
