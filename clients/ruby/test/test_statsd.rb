# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# Metrics, as a daemon gets them.
class TestStatsD < PshubTest
  NAME = "daemon.test"

  def setup
    super
    @daemon = bound
  end

  def teardown
    @daemon.close
    super
  end

  def bound = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
  def port = @daemon.addr[1]
  def metrics(host = "127.0.0.1") = Pshub::StatsD.new("#{host}:#{port}", "web")
  def count_of(line, lines) = lines.count { |each| each.start_with?(line) }

  def received
    assert @daemon.wait_readable(60), "nothing came"
    @daemon.recv(65_536).force_encoding("UTF-8").split("\n")
  end

  # The name of the daemon means what the block says, which may take long.
  def named(answer, &block)
    real = Addrinfo.method(:getaddrinfo)
    Addrinfo.stub(:getaddrinfo, ->(host, *rest) { host == NAME ? answer.call : real.call(host, *rest) }, &block)
  end

  def test_the_table_is_that_of_all_languages
    listed = Support.vectors("statsd.json")["metrics"].reject { |each| each["only"] }
    assert_equal(listed, Pshub::METRICS.values.map { |each| { "name" => each.name, "type" => each.type, "tags" => each.tags.map(&:to_s) } })
  end

  def test_lines_are_those_of_all_languages
    vectors = Support.vectors("statsd.json")
    events = Pshub::Events.new
    client = Pshub::StatsD.watch(events, "127.0.0.1:#{port}", vectors["name"])
    vectors["cases"].each do |each|
      told = each["with"].to_h { |key, value| [key.gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }.to_sym, value] }
      told[:us] = Pshub::Phases.new(*told[:us].values_at("backlog", "queue", "exec")) if told[:us]
      # There may be no lines; this one comes in any case.
      events.emit("request:malformed", queue: "end")
      events.emit(each["event"], **told)
      client.close
      lines = received.reject { |line| line.include?("queue:end") }.map { |line| line.sub(/-\d+(-\d+)?(?=,name)/, "-<pid>") }
      assert_equal each["lines"].sort, lines.sort, each["event"]
    end
  end

  def test_calls_that_end_before_there_is_a_request_are_told_too
    calling = hub
    told = []
    calling.events.on("call:settled") { |event| told << event[:code] }
    assert_raises(Pshub::InvalidArgs) { calling.call("add:1.0", {}, queue: "no queue") }
    assert_raises(Pshub::InvalidArgs) { calling.stream("add:1.0", {}, queue: "no queue") { flunk } }
    assert_equal %w[InvalidArgs InvalidArgs], told
  end

  def test_what_is_told_leaves_soon_and_a_fork_tells_its_own
    client = metrics
    client.count("job.enqueued", { queue: "q" }, 3)
    client.gauge("worker.slots", 4, { queue: "q" })
    assert_equal ["pshub.job.enqueued:3|c|#queue:q,name:web", "pshub.worker.slots:4|g|#queue:q,name:web"], received
    # A thread that waits does not go along into a child, and what it was to send is the parent's.
    client.count("job.enqueued", { queue: "mine" })
    child = fork do
      client.close
      client.count("job.enqueued", { queue: "its" })
      delay 600, "until it is killed"
    end
    assert_equal(%w[its mine], (received + received).map { |line| line[/queue:(\w+)/, 1] }.sort)
  ensure
    Process.kill(:KILL, child) && Process.wait(child) if child
  end

  def test_a_name_that_is_looked_up_for_long_holds_up_nobody
    asked = Queue.new
    may_answer = Queue.new
    here = [Addrinfo.udp("127.0.0.1", port)]
    answer = lambda do
      asked << Thread.current.name
      may_answer.pop && here
    end
    named(answer) do
      worker(declare("add:1.0") { |args| args["x"] + 2 }, statsd: "#{NAME}:#{port}")
      calling = hub(statsd: "#{NAME}:#{port}", name: "web")
      # Until both have one that is looked up, for good.
      eventually { calling.call("add:1.0", { x: 1 }) == 3 && asked.size == 2 }
      socket = calling.instance_variable_get(:@statsd).instance_variable_get(:@socket)
      eventually { calling.call("add:1.0", { x: 1 }) == 3 && socket.instance_variable_get(:@waiting).any? }
      assert_equal ["pshub-statsd"] * 2, Array.new(2) { asked.pop }
      2.times { may_answer << true }
      lines = []
      eventually { count_of("pshub.call.ok:1|c|#task:add:1.0,name:web", lines.concat(received)).positive? }
    end
  end

  def test_an_address_is_looked_up_again_and_none_is_waited_for_without_end
    other = bound
    addresses = [[Addrinfo.udp("127.0.0.1", port)], nil, [Addrinfo.udp("127.0.0.1", other.addr[1])]]
    socket = Pshub::StatsdSocket.new(NAME, port)
    named(-> { addresses.shift || raise(SocketError) }) do
      socket.push("first")
      assert_equal ["first"], received
      # A look-up that fails costs nothing: the last address holds.
      look_again(socket) { addresses.size == 1 }
      socket.push("second")
      assert_equal ["second"], received
      look_again(socket) { addresses.empty? }
      socket.push("third")
      assert_equal "third", other.wait_readable(60) && other.recv(100)
      assert_equal 0, socket.dropped

      lost = Pshub::StatsdSocket.new(NAME, port)
      100.times { lost.push("lost") }
      eventually { lost.dropped == 100 }
    end
  ensure
    other&.close
  end

  # As if its time had come.
  def look_again(socket)
    eventually { socket.instance_variable_get(:@looking).nil? }
    socket.instance_variable_set(:@look_at, -Float::INFINITY)
    socket.open
    eventually { yield && socket.instance_variable_get(:@looking).nil? }
  end
end
