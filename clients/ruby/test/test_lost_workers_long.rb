# frozen_string_literal: true

require_relative "helper"

# Workers whose handlers compute or do not end.
class TestLostWorkersLong < PshubTest
  def test_handlers_that_compute_cost_no_lease
    process = worker_process("--lease", "2")
    before = server.client.hkeys("pshub:workers")
    pending = Array.new(3) { hub.submit("busy:1.0", { ms: 4500 }) }
    pending.each { |each| assert_operator each.result, :>, 0 }
    assert_equal before, server.client.hkeys("pshub:workers")
    refute process.gone?
  end

  def test_a_handler_that_is_given_up_gives_its_slot_to_others
    worker_process("--slots", "1")
    calling = hub
    assert_raises(Pshub::Timeout) { calling.call("stubborn:1.0", { until: gate.path }, timeout: 1) }
    assert_equal 3, calling.call("add:1.0", { x: 1 })
  end
end
