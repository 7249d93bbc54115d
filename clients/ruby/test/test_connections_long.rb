# frozen_string_literal: true

require_relative "helper"

# What is kept of calls while Redis is away.
class TestConnectionsLong < PshubTest
  def test_calls_that_ended_in_an_outage_are_not_kept
    own_server
    worker(declare("add:1.0") { |args| args["x"] + 2 })
    calling = hub
    assert_equal 3, calling.call("add:1.0", { x: 1 }, timeout: 5)
    server.kill
    callers = Array.new(4) do
      Thread.new { Array.new(5) { calling.submit("add:1.0", { x: 1, pad: "x" * 10_000 }).outcome.error.code } }
    end
    20.times { calling.submit("add:1.0", { x: 1 }) }
    assert_equal ["NotEnqueued"], callers.flat_map(&:value).uniq
    # Those that nobody asks for are looked at with the next call.
    calling.submit("add:1.0", { x: 1 }).outcome
    GC.start
    assert_operator ObjectSpace.each_object(Pshub::Attempt).count { |attempt| !attempt.settled || attempt.body.size > 10_000 }, :<, 15
  end
end
