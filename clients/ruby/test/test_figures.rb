# frozen_string_literal: true

require_relative "helper"

# What a worker tells of itself, for others to read.
class TestFigures < PshubTest
  ARGS = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] }.freeze

  def adder = declare("add:1.0", args: ARGS) { |args| args["x"] + 2 }

  def test_cards_and_statistics
    serving = worker(adder, declare("wait:1.0", timeout: 20, idempotent: true) { |args, ctx| ctx.wait(args["s"]) })
    calling = hub
    5.times { |x| calling.call("add:1.0", { x: x }) }
    read = ->(key) { JSON.parse(server.client.hget(key, serving.id) || "{}") }
    eventually { read.call("pshub:stats").dig("counters", "ok") == 5 && read.call("pshub:taskstats").dig("tasks", "add:1.0", "ok") == 5 }
    window = read.call("pshub:taskstats")["tasks"]["add:1.0"]["window"]
    %w[backlog queue exec].each { |phase| assert_equal 5, window["us"][phase]["counts"].each_slice(2).sum(&:last) }
    card = read.call("pshub:workers")
    declared = JSON.parse(server.client.hget("pshub:tasks", "add:1.0"))
    assert_equal declared["digest"], card["tasks"]["add:1.0"]
    assert_equal Digest::SHA256.hexdigest(JSON.generate([declared["args"], nil]))[0, 12], declared["digest"]
    assert_equal [false, 60_000, "default"], declared.values_at("idempotent", "timeoutMs", "queue")
    assert_equal [4, Process.pid, "pshub-ruby/#{Pshub::VERSION}"], card.values_at("slots", "pid", "client")
  end

  def test_recent_failures_and_callers
    failing = declare("raise:1.0") { |_| raise ArgumentError, "the disk is full" }
    # As a worker in another language that died left it.
    %w[stats taskstats slow failures].each { |key| server.client.hset("pshub:#{key}", "dead", '{"seen":1}') }
    serving = worker(adder, failing)
    shop = hub(name: "shop")
    error = nil
    12.times { error = assert_raises(Pshub::TaskFailed) { shop.call("raise:1.0") } }
    shop.call("add:1.0", { x: 1 })
    seconds = server.client.time.first
    late = { task: "add:1.0", id: "late", ttl: 5, at: (seconds - 60) * 1_000_000 }
    server.push(JSON.generate(late), JSON.generate(task: "add:1.0", id: "invalid", args: 1))
    read = ->(key) { JSON.parse(server.client.hget(key, serving.id) || "{}") }
    eventually { read.call("pshub:failures").fetch("add:1.0", []).size == 2 }
    failures = read.call("pshub:failures")
    assert_equal 10, failures["raise:1.0"].map { |each| each["id"] }.uniq.size
    newest = failures["raise:1.0"].first
    assert_equal [error.id, "TaskFailed", "the disk is full", "shop"], newest.values_at("id", "code", "message", "from")
    assert_operator newest["at"], :<=, server.client.time.then { |whole, micros| (whole * 1_000_000) + micros }
    by_id = failures["add:1.0"].to_h { |each| [each["id"], each] }
    assert_equal ["Expired", 0, nil], by_id["late"].values_at("code", "execUs", "from")
    assert_equal "InvalidArgs", by_id["invalid"]["code"]
    eventually { read.call("pshub:taskstats").dig("tasks", "add:1.0", "callers") == { "shop" => 1, "" => 2 } }
    assert_equal({ "shop" => 12 }, read.call("pshub:taskstats").dig("tasks", "raise:1.0", "window", "callers"))
    serving.stop
    %w[stats taskstats slow failures].each { |key| assert_empty server.client.hkeys("pshub:#{key}"), key }
  end

  def test_what_is_told_leaves_soon_without_anything_further
    UDPSocket.open do |daemon|
      daemon.bind("127.0.0.1", 0)
      client = Pshub::StatsD.new("127.0.0.1:#{daemon.addr[1]}")
      received = lambda do
        assert daemon.wait_readable(60), "nothing came"
        daemon.recv(2000)
      end
      client.count("one")
      client.count("two", 3, queue: "q")
      assert_equal "pshub.one:1|c\npshub.two:3|c|#queue:q", received.call
      client.gauge("three", 4)
      assert_equal "pshub.three:4|g", received.call
      # A thread that waits does not go along into a child.
      client.count("mine")
      child = fork do
        client.count("its")
        delay 600, "until it is killed"
      end
      lines = Array.new(2) { received.call }.join("\n").lines(chomp: true)
      assert_equal %w[pshub.its:1|c pshub.mine:1|c], lines.uniq.sort
    ensure
      Process.kill(:KILL, child) && Process.wait(child) if child
    end
  end

  def test_timings_go_to_statsd
    daemon = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
    address = "127.0.0.1:#{daemon.addr[1]}"
    serving = worker(adder, statsd: address)
    calling = hub(statsd: address)
    calling.call("add:1.0", { x: 1 })
    calling.close
    serving.stop
    missing = %w[call.time queue.backlog_wait worker.queue_wait worker.exec]
    until missing.empty?
      assert daemon.wait_readable(60), "#{missing} did not come"
      lines = daemon.recv(2000).split("\n")
      missing.reject! { |name| lines.any? { |line| line.match?(/\Apshub\.#{name}:[0-9.]+\|ms\|#.*task:add_1.0/) } }
    end
  ensure
    daemon.close
  end
end
