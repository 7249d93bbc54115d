# frozen_string_literal: true

require_relative "helper"

# Calls that go well and calls that fail, with a hub and a worker in this process.
class TestCalls < PshubTest
  INTEGER = { type: "integer" }.freeze

  def adder = declare("add:1.0", args: { type: "object", properties: { x: INTEGER }, required: ["x"] }) { |args| args["x"] + 2 }
  def waiter(**options) = declare("wait:1.0", **options) { |args, ctx| ctx.wait(args["s"]) }

  def test_a_call_and_what_it_leaves
    serving = worker(adder)
    calling = hub
    assert_equal 3, calling.call("add:1.0", { x: 1 })
    assert_equal 3, calling.call(adder, { "x" => 1 })
    assert_equal 4, calling.call("add", { x: 2 })
    calling.close
    serving.stop
    assert_empty server.leftovers
    assert_empty server.client.keys("pshub:reply:*") + server.client.keys("*:pushed:*")
  end

  def test_gather_tells_how_each_ended
    worker(adder)
    outcomes = hub.gather(
      one: ["add:1.0", { x: 1 }], wrong: ["add:1.0", { x: "1" }], none: "nix:1.0", late: ["add:1.0", { x: 1 }, 0], timeout: 5
    )
    assert_equal [true, 3], outcomes[:one].to_a.first(2)
    codes = outcomes.transform_values { |outcome| outcome.error&.code }
    assert_equal({ one: nil, wrong: "InvalidArgs", none: "NoSuchTask", late: "Expired" }, codes)
  end

  def test_what_is_not_a_call_is_refused_with_a_sentence
    calling = hub
    wrong = { [[["add:1.0", { x: 1 }]]] => {}, [{}, {}] => {}, [{ a: "add:1.0" }] => { time: 2 }, [] => { a: [] }, [7] => {} }
    messages = wrong.map { |given, named| assert_raises(Pshub::InvalidArgs) { calling.gather(*given, **named) }.message }
    messages.each { |message| assert_includes message, 'gather(user: ["user:1.0", { id: 7 }]' }
    assert_match(/time must be a call, not 2: .*Its options are timeout and queue/, messages[2])

    from_within = nil
    worker(declare("outer:1.0") { |_, ctx| from_within = assert_raises(Pshub::InvalidArgs) { ctx.call("add:1.0", x: 1) } and nil })
    calling.call("outer:1.0")
    errors = %i[call stream].map { |way| assert_raises(Pshub::InvalidArgs) { calling.public_send(way, "add:1.0", x: 1) { break } } }
    [from_within, *errors].each { |error| assert_match(/'x' is not an option .* call\("add:1.0", \{ x: ... \}, timeout: 2\)/, error.message) }
  end

  def test_many_threads_share_a_hub
    worker(adder, slots: 8)
    calling = hub
    results = Array.new(8) { |base| Thread.new { Array.new(40) { |n| calling.call("add:1.0", { x: (base * 100) + n }) } } }
    results.each_with_index { |thread, base| assert_equal(Array.new(40) { |n| (base * 100) + n + 2 }, thread.value) }
  end

  def test_errors_of_handlers
    raising = declare("raise:1.0") { |_| raise ArgumentError, "the disk is full" }
    telling = declare("tell:1.0") { |_| raise Pshub::TaskError.new("busy", retryable: true, data: { after: 5 }) }
    leaving = declare("leave:1.0") { |_| exit(3) }
    worker(raising, telling, leaving, declare("bad:1.0", result: INTEGER) { "1" }, declare("odd:1.0") { Object.new })
    calling = hub
    error = assert_raises(Pshub::TaskFailed) { calling.call("raise:1.0") }
    assert_equal ["the disk is full", "yes", false, 500, "raise:1.0"],
                 [error.message, error.ran, error.retryable, error.http_status, error.task]
    error = assert_raises(Pshub::TaskFailed) { calling.call("tell:1.0") }
    assert_equal [true, { "after" => 5 }], [error.retryable, error.data]
    assert_raises(Pshub::TaskFailed) { calling.call("leave:1.0") }
    %w[bad:1.0 odd:1.0].each { |name| assert_raises(Pshub::InvalidResult) { calling.call(name) } }
  end

  def test_names_that_lead_nowhere
    serving = worker(adder)
    calling = hub
    assert_match(/Did you mean add:1.0/, assert_raises(Pshub::NoSuchTask) { calling.call("ad:1.0") }.message)
    assert_match(/Known versions: add:1.0/, assert_raises(Pshub::NoSuchTask) { calling.call("add:2") }.message)
    assert_raises(Pshub::NoSuchTask) { calling.call("no name") }
    assert_raises(Pshub::NoSuchTask) { calling.call(nil) }
    serving.stop
    assert_raises(Pshub::NoWorkers) { hub.call("add:1.0", { x: 1 }) }
  end

  def test_an_interrupted_caller_gives_up
    worker(waiter)
    calling = hub
    caller = Thread.new { calling.call("wait:1.0", { s: 60 }, timeout: 60) }
    eventually { server.held_count == 1 }
    caller.kill
    eventually("the handler's end") { server.held.empty? }
  end

  def test_a_closed_hub_takes_back_what_it_sent
    worker(waiter, slots: 1)
    calling = hub
    pending = Array.new(3) { calling.submit("wait:1.0", { s: 60 }, timeout: 60) }
    eventually { server.waiting == 2 && server.held_count == 1 }
    calling.close
    assert_equal 0, server.waiting
    pending.each { |call| assert_raises(Pshub::Aborted) { call.result } }
    eventually("the handler's end") { server.held.empty? }
  end

  def test_a_retryable_failure_of_an_idempotent_task_is_tried_again
    tries = 0
    again = declare("again:1.0", idempotent: true) { (tries += 1) < 3 ? raise(Pshub::TaskError.new("no", retryable: true)) : tries }
    once = declare("once:1.0") { (tries += 1) && raise(Pshub::TaskError.new("no", retryable: true)) }
    worker(again, once)
    assert_equal 3, hub.call("again:1.0")
    assert_raises(Pshub::TaskFailed) { hub.call("once:1.0") }
    assert_equal 4, tries
  end

  def test_a_forked_child_has_an_identity_of_its_own
    worker(adder)
    calling = hub
    assert_equal 3, calling.call("add:1.0", { x: 1 })
    reader, writer = IO.pipe
    child = fork do
      reader.close
      writer.write(JSON.generate([calling.id, calling.call("add:1.0", { x: 5 })]))
      writer.close
      calling.close
      exit!(0)
    end
    writer.close
    id, result = JSON.parse(reader.read)
    Process.wait(child)
    assert_equal 7, result
    refute_equal calling.id, id
    assert_equal 4, calling.call("add:1.0", { x: 2 })
  end

  def test_settings_that_cannot_work_are_named
    assert_match(/option slots must be a whole number/, assert_raises(Pshub::ConfigError) { worker(adder, slots: 0) }.message)
    assert_match(/no option slits/, assert_raises(Pshub::ConfigError) { worker(adder, slits: 1) }.message)
    assert_match(/option redis must not name a database/, assert_raises(Pshub::ConfigError) { Pshub::Hub.new(redis: "redis://127.0.0.1/3") }.message)
    assert_raises(Pshub::ConfigError) { worker(adder, adder) }
    assert_raises(Pshub::ConfigError) { worker }
    assert_raises(Pshub::ConfigError) { declare("add") { 1 } }
  end

  def test_a_task_of_another_worker_is_handed_back
    worker(declare("mine:1.0") { 1 })
    worker(declare("yours:1.0") { 2 })
    calling = hub
    # Several in a row: idle workers take turns.
    results = %w[mine:1.0 yours:1.0].map { |name| Array.new(6) { calling.call(name, {}) } }
    assert_equal [[1] * 6, [2] * 6], results
  end
end
