# frozen_string_literal: true

require_relative "helper"

# Handlers that yield, streams of them, and progress.
class TestStreams < PshubTest
  WINDOW = Pshub::Streams::WINDOW

  # Yields until it is told to stop; +seen+ is what is known of it.
  def endless(seen)
    declare("endless:1.0") do
      Enumerator.new do |chunks|
        loop { chunks << (seen[:yielded] = seen.fetch(:yielded, 0) + 1) }
      ensure
        seen[:ended] = true
      end
    end
  end

  def test_the_error_comes_behind_the_chunks_before_it
    worker(
      declare("fails:1.0") { Enumerator.new { |chunks| (chunks << 1) && raise(Pshub::TaskError.new("no more", code: "NoMore")) } },
      declare("odd:1.0") { |how| [1, how == "large" ? "x" * 2000 : Object.new].each },
      declare("plain:1.0") { 5 }, max_payload_bytes: 1500
    )
    calling = hub
    chunks = []
    failed = assert_raises(Pshub::TaskFailed) { calling.stream("fails:1.0") { |chunk| chunks << chunk } }
    assert_equal ["NoMore", [1]], [failed.code, chunks]
    assert_match(/A chunk of odd:1.0 is larger/, assert_raises(Pshub::InvalidResult) { calling.stream("odd:1.0", "large") { nil } }.message)
    assert_raises(Pshub::InvalidResult) { calling.stream("odd:1.0", "none") { nil } }
    assert_raises(Pshub::NoSuchTask) { calling.stream("nothing:1.0") { nil } }
    [{ idle: 0 }, { on_progress: 3 }, { timeout: "x" }].each do |options|
      assert_raises(Pshub::InvalidArgs) { calling.stream("plain:1.0", {}, **options) { nil } }
    end
    assert_equal 5, calling.stream("plain:1.0") { flunk }
  end

  ROW = { "type" => "object", "properties" => { "n" => { "type" => "integer" } }, "required" => ["n"] }.freeze

  def test_chunks_are_held_to_the_schema_that_its_card_has
    worker(
      declare("rows:1.0", yields: ROW) { |fits| [{ n: 1 }, { n: fits ? 2 : "two" }].each },
      declare("any:1.0", yields: true) { [1, "two"].each }, declare("whole:1.0") { 5 }
    )
    calling = hub
    assert_equal [{ "n" => 1 }, { "n" => 2 }], calling.call("rows:1.0", true)
    assert_equal [1, "two"], calling.stream("any:1.0").to_a
    chunks = []
    unfit = assert_raises(Pshub::InvalidResult) { calling.stream("rows:1.0", false) { |chunk| chunks << chunk } }
    assert_equal [[{ "n" => 1 }], ["/n"]], [chunks, unfit.data["problems"].map { |each| each["pointer"] }]
    assert_raises(Pshub::InvalidResult) { calling.call("rows:1.0", false) }
    cards = server.client.call("HGETALL", "pshub:tasks").each_slice(2).to_h.transform_values { |card| JSON.parse(card)["yields"] }
    assert_equal({ "rows:1.0" => ROW, "any:1.0" => true, "whole:1.0" => nil }, cards)
  end

  def test_what_cannot_be_declared_of_chunks_is_refused
    [{ "type" => "nothing" }, false, 3].each do |wrong|
      assert_match(/yields is not a valid JSON Schema/, assert_raises(Pshub::ConfigError) { declare("odd:1.0", yields: wrong) { nil } }.message)
    end
    merged = assert_raises(Pshub::ConfigError) { declare("odd:1.0", keyed: "merged", yields: true) { nil } }
    assert_match(/nobody reads what a run of merged jobs yields/, merged.message)
  end

  def test_the_worker_waits_while_nobody_reads_and_stops_when_the_loop_is_left
    worker(endless(seen = {}), adder)
    read = 0
    calling = hub
    calling.stream("endless:1.0") do |chunk|
      assert_equal read += 1, chunk
      if read == 1
        eventually { seen[:yielded] >= WINDOW }
        20.times { calling.call("add:1.0", { x: 1 }) }
        assert_operator seen[:yielded], :<=, WINDOW + 1
      end
      break if read == 3 * WINDOW
    end
    eventually { seen[:ended] }
    assert_operator seen[:yielded], :<=, (4 * WINDOW) + 1
  end

  # Goes on with its next step when the last one was told.
  def steps
    @heard = Thread::Queue.new
    declare("steps:1.0") do |_, ctx|
      (1..3).each do |n|
        ctx.progress(n, 3, "step #{n}")
        @heard.pop
      end
      "ready"
    end
  end

  def telling(told) = ->(progress) { (told << progress.to_a) && (@heard << true) }

  TOLD = [1, 2, 3].map { |n| [n, 3, "step #{n}"] }

  def test_a_job_that_was_given_up_tells_nothing_more
    contexts = Thread::Queue.new
    goes_on = Thread::Queue.new
    deaf = declare("deaf:1.0", retries: 0, job_timeout_ms: 50) { |_, ctx| (ctx.progress(1) || (contexts << ctx)) && goes_on.pop }
    worker(deaf, declare("next:1.0") { "next" })
    calling = hub
    assert_raises(Pshub::Timeout) { calling.enqueue(deaf, {}, tracked: true).result }
    eventually("what was told goes") { server.client.keys("*:progress:*").empty? }
    contexts.pop.progress(2)
    assert_equal "next", calling.enqueue("next:1.0", {}, tracked: true).result
    assert_empty server.client.keys("*:progress:*")
    goes_on << true
  end

  def test_progress_comes_to_who_asks
    worker(steps)
    calling = hub
    told = []
    assert_equal "ready", calling.stream("steps:1.0", {}, on_progress: telling(told)) { nil }
    assert_equal TOLD, told
    job = calling.enqueue("steps:1.0", {}, keep_result_ms: 60_000)
    assert_equal TOLD.first, eventually { job.status.progress }.to_a
    3.times { @heard << true }
    assert_equal "ready", job.result
    assert_nil job.status.progress
  end

  def test_progress_of_a_call_comes_to_who_asks
    worker(steps)
    calling = hub
    told = []
    assert_equal "ready", calling.call("steps:1.0", {}, on_progress: telling(told))
    assert_equal "ready", calling.submit("steps:1.0", {}, on_progress: telling(told)).result
    assert_equal TOLD + TOLD, told
    3.times { @heard << true }
    assert_equal "ready", calling.call("steps:1.0")
    wrong = assert_raises(Pshub::InvalidArgs) { calling.call("steps:1.0", {}, on_progress: 3) }
    assert_equal "on_progress must respond to call, not 3.", wrong.message
    problems = []
    calling.events.on("problem") { |event| problems << event[:where] }
    assert_equal "ready", calling.call("steps:1.0", {}, on_progress: ->(progress) { (@heard << true) && progress.nothing })
    assert_equal ["on_progress"] * 3, problems
  end

  def test_a_worker_is_told_that_somebody_reads_before_the_first_chunk
    gate = Thread::Queue.new
    worker(declare("thinks:1.0", timeout: 30) { Enumerator.new { |chunks| chunks << gate.pop } })
    calling = hub
    reading = Thread.new { calling.stream("thinks:1.0").to_a }
    eventually { server.client.keys("pshub:reply:{#{calling.id}}:taken:*").any? }
    gate << 1
    assert_equal [1], reading.value
    eventually { server.client.keys("pshub:reply:{#{calling.id}}:taken:*").empty? }
  end
end
