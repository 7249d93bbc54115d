# frozen_string_literal: true

require_relative "probing"

# Probes of a worker that stood still, or lost a thread.
class TestHealthLong < PshubTest
  include Probing

  def test_they_say_that_it_stood_still_for_longer_than_its_lease
    port = own_port
    worker = worker_process("--health-port", port.to_s, "--lease", "2s")
    assert_equal LIVE, probe(port, "/livez")
    worker.signal("STOP")
    Process.wait(worker.pid, Process::WUNTRACED)
    # Nobody answers.
    assert_raises(Net::ReadTimeout) { probe(port, "/livez", patience: 3) }
    worker.signal("CONT")
    status, said = probe(port, "/livez")
    assert_equal [503, false, "its threads were blocked"], [status, *said.values_at("live", "reason")]
    assert_operator said["blockedMs"], :>, 2000
    # It is remembered for a while, and no longer.
    eventually("that it is forgotten") { probe(port, "/livez") == LIVE }
  end

  # As a handler can do it that ends threads which are not its own.
  def test_they_say_that_a_thread_has_ended
    port = own_port
    before = Thread.list
    serving = worker(adder, health_port: port)
    assert_equal LIVE, probe(port, "/livez")
    beating = eventually("its beats") do
      (Thread.list - before).find { |thread| (thread.backtrace || []).any? { |line| line.include?("roles/beat.rb") } }
    end
    beating.kill.join
    assert_equal [503, { "live" => false, "reason" => "a thread has ended: beat of default" }], probe(port, "/livez")
    eventually("the end of the lease") { probe(port, "/readyz") == [503, { "ready" => false, "reason" => "no lease in default" }] }
    serving.stop
  end
end
