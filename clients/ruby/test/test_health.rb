# frozen_string_literal: true

require_relative "probing"
require "tempfile"

# Probes of a worker: /livez and /readyz, over HTTP.
class TestHealth < PshubTest
  include Probing

  TASKS = File.expand_path("tasks.rb", __dir__)

  def raw(port, sent)
    socket = TCPSocket.new("127.0.0.1", port)
    socket.write(sent)
    socket.close_write
    socket.read
  ensure
    socket&.close
  end

  def test_a_worker_answers_them
    port = own_port
    worker = worker_process("--health-port", port.to_s)
    # Others see it a moment before it serves.
    eventually("that it serves") { probe(port, "/readyz") == READY }
    assert_equal LIVE, probe(port, "/livez?verbose")
    assert_equal [404, { "error" => "Only /livez and /readyz exist here." }], probe(port, "/")
    assert_includes worker.said, %("port":#{port},"msg":"probes are answered: /livez and /readyz")
    assert_match(%r{\AHTTP/1.1 200 OK\r\n.*\r\n\r\n\z}m, raw(port, "HEAD /livez HTTP/1.1\r\nhost: a\r\n\r\n"))
    # Whatever comes to the port, it is answered, and costs the others nothing.
    ["\x16\x03\x01\x02\xff\r\n\r\n", "GET /livez\r\n\r\n", "GET /#{'a' * 10_000}"].each do |wrong|
      assert raw(port, wrong).start_with?("HTTP/1.1 400 "), wrong
    end
    silent = TCPSocket.new("127.0.0.1", port)
    assert_equal LIVE, probe(port, "/livez")
    worker.signal("TERM")
    assert_equal 0, worker.wait
    assert_nil reached(port, "/livez")
  ensure
    silent&.close
  end

  def test_they_say_that_redis_is_away_and_that_it_is_back
    own_server
    port = own_port
    worker_process("--health-port", port.to_s, "--lease", "2s")
    Process.kill("STOP", server.pid)
    begin
      eventually("the end of the lease") { probe(port, "/readyz").first == 503 }
      assert_equal LIVE, probe(port, "/livez")
      eventually("what is said of Redis") { probe(port, "/readyz") == [503, { "ready" => false, "reason" => "Redis is unreachable" }] }
    ensure
      Process.kill("CONT", server.pid)
    end
    eventually("a lease again") { probe(port, "/readyz") == READY }
  end

  def test_they_say_that_it_waits_for_its_first_lease
    own_server.kill
    port = own_port
    pid = Process.spawn(*WorkerProcess::COMMAND, "--redis", server.url, "--health-port", port.to_s, err: IO::NULL)
    assert_equal [503, { "ready" => false, "reason" => "starting" }], eventually("an answer") { reached(port, "/readyz") }
    assert_equal LIVE, probe(port, "/livez")
    server.start
    eventually("a lease") { probe(port, "/readyz") == READY }
  ensure
    Process.kill("KILL", pid)
    Process.wait(pid)
  end

  def test_they_say_that_it_stops
    begun = Thread::Queue.new
    may_end = Thread::Queue.new
    port = own_port
    serving = worker(declare("wait:1.0", timeout: 30) { begun.push(1) && may_end.pop }, health_port: port)
    calling = Thread.new { hub.call("wait:1.0") }
    begun.pop
    stopping = Thread.new { serving.stop }
    eventually("that it stops") { probe(port, "/readyz") == [503, { "ready" => false, "reason" => "stopping" }] }
    assert_equal LIVE, probe(port, "/livez")
    may_end << 7
    assert_equal 7, calling.value
    stopping.join
    assert_nil reached(port, "/livez")
  end

  def test_each_needs_a_port_that_nobody_else_has
    other = TCPServer.new("127.0.0.1", 0)
    port = other.addr[1]
    wrong = "The worker cannot answer probes on port #{port} (health_port, --health-port or PSHUB_HEALTH_PORT): " \
            "another program listens there; give each worker on a machine its own port."
    serving = Pshub::Worker.new(redis: server.url, tasks: [adder], health_port: port)
    assert_equal wrong, assert_raises(Pshub::ConfigError) { serving.start }.message
    serving.stop
    assert_equal ["pshub-worker-rb: #{wrong}\n", 2], program(TASKS, "--redis", server.url, "--health-port", port.to_s)
    assert_equal 0, server.client.hlen("pshub:workers")
  ensure
    other&.close
  end

  def test_what_is_no_port_is_refused
    wrong = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [adder], health_port: 70_000) }
    assert_equal "option health_port must be a whole number from 0 to 65535; it is 70000.", wrong.message
    wrong = assert_raises(Pshub::ConfigError) { Pshub::Hub.new(health_port: 1) }
    assert_match(/\AThere is no option health_port\./, wrong.message)
    assert_equal ["pshub-worker-rb: PSHUB_HEALTH_PORT must be a whole number from 0 to 65535; it is \"http\".\n", 2],
                 program(TASKS, env: { "PSHUB_HEALTH_PORT" => "http" })
  end

  def test_the_option_beats_the_environment_and_0_takes_a_free_port
    other = TCPServer.new("127.0.0.1", 0)
    told = Tempfile.new("pshub")
    environment = { "PSHUB_HEALTH_PORT" => other.addr[1].to_s }
    pid = Process.spawn(environment, *WorkerProcess::COMMAND, "--redis", server.url, "--health-port", "0", err: told.path)
    port = eventually("its port") { File.read(told.path)[/"port":(\d+),"msg":"probes are answered/, 1] }.to_i
    eventually("a lease") { probe(port, "/readyz") == READY }
  ensure
    if pid
      Process.kill("KILL", pid)
      Process.wait(pid)
    end
    [told, other].each(&:close)
  end
end
