# frozen_string_literal: true

require_relative "helper"

# In front of Redis: delivers the bytes of a connection after its client has gone, or slowly.
class LateProxy
  # The first chunk with this in it, and all that follow it on its connection, are held.
  attr_accessor :hold_from
  attr_accessor :rate
  attr_reader :held

  # +slow+ takes the time of a slow link, in seconds.
  def initialize(port, slow)
    @port = port
    @slow = slow
    @held = []
    @ends = Queue.new
    @listener = TCPServer.new("127.0.0.1", 0)
    @threads = [Thread.new { loop { serve(@listener.accept) } }]
  end

  def url = "redis://127.0.0.1:#{@listener.addr[1]}"

  # What became of the held bytes: Redis +answered+ them, or had +closed+ their connection.
  def deliver
    @held.each { |data| @late.write(data) }
    @ends.pop
  rescue SystemCallError
    "closed"
  end

  def close
    @threads.each(&:kill).each(&:join)
    @listener.close
  end

  private

  def serve(client)
    redis = TCPSocket.new("127.0.0.1", @port)
    @threads << Thread.new { pass_on(client, redis) } << Thread.new { answer(client, redis) }
  end

  def pass_on(client, redis)
    loop do
      data = client.readpartial(65_536)
      @hold_from, @late = nil, redis if @hold_from && data.include?(@hold_from)
      next @held << data if @late == redis

      @slow.call(data.bytesize / @rate.to_f) if @rate
      redis.write(data)
    end
  rescue IOError, SystemCallError
    redis.close unless @late == redis
  end

  def answer(client, redis)
    loop do
      data = redis.readpartial(65_536)
      @ends << "answered" if @late == redis
      client.write(data)
    rescue Errno::EPIPE
      next
    end
  rescue IOError, SystemCallError
    @ends << "closed" if @late == redis
    client.close
  end
end

# No command of a connection runs once its successor is ready; a slow upload is no reason to give one up.
class TestFence < PshubTest
  def late_proxy = ending(LateProxy.new(server.port, ->(seconds) { delay(seconds, "a slow link") }), :close)
  def link(proxy) = ending(Pshub::Connection.new("test", "commands", proxy.url, 0.3, Pshub::Events.new), :close)

  def test_a_late_command_does_not_run
    between = late_proxy
    connection = link(between)
    assert_equal "PONG", connection.one("PING")
    between.hold_from = "SET"
    assert_raises(Pshub::ConnectionLost) { connection.one("SET", "late", "late") }
    assert connection.wait_ready(Pshub::Stop.new, 60)
    connection.one("SET", "late", "again")
    assert_equal "closed", between.deliver
    assert_equal "again", server.client.get("late")
  ensure
    server.client.del("late")
  end

  def test_an_upload_that_takes_longer_than_silence_may_last_arrives
    between = late_proxy
    connection = link(between)
    assert_equal "PONG", connection.one("PING")
    between.rate = 300_000
    assert_equal "OK", connection.one("SET", "large", "x" * 300_000)
  ensure
    server.client.del("large")
  end

  def test_tcp_asks_for_a_sign_of_life_within_30_s
    link = ending(Pshub::Link.new({ host: "127.0.0.1", port: server.port }, 1.0), :close)
    # 15 s with the gem redis 5, which sees to it itself.
    assert_includes [15, 30], link.send(:socket).getsockopt(:TCP, :KEEPIDLE).int
  end

  def test_nothing_is_sent_over_a_link_that_was_forgotten_while_it_rested
    between = late_proxy
    connection = link(between)
    assert_equal "PONG", connection.one("PING")
    # As a firewall does: neither end is told.
    between.hold_from = ""
    Pshub::Clock.move(60)
    assert_equal "OK", connection.one("SET", "rested", "1", "NX")
    assert_equal "*1\r\n$4\r\nTIME\r\n", between.held.join
  ensure
    Pshub::Clock.move(-60)
    server.client.del("rested")
  end
end
