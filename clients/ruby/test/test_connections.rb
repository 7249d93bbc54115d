# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# What a connection waits for, and what is kept while there is none.
class TestConnections < PshubTest
  def test_a_long_answer_over_a_slow_link_is_progress
    between = proxy
    server.client.set("long", "x" * 900_000)
    link = ending(Pshub::Connection.new("test", "commands", between.url, 1.0, Pshub::Events.new), :close)
    assert_equal "PONG", link.one("PING")
    between.rate = 400_000
    # Takes more than twice the time in which an answer has to begin.
    assert_equal 900_000, link.one("GET", "long").size
  end

  def test_a_connection_is_given_up_whose_opening_takes_too_long
    server_of_bytes = TCPServer.new("127.0.0.1", 0)
    dribbling = Thread.new do
      loop do
        socket = server_of_bytes.accept
        Thread.new do
          loop { socket.write("+") && delay(0.1, "never silent for long, and never ready") }
        rescue SystemCallError
          socket.close
        end
      end
    end
    link = Pshub::Connection.new("test", "commands", "redis://127.0.0.1:#{server_of_bytes.addr[1]}", 2.0, Pshub::Events.new)
    trying = Thread.new { link.wait_ready(Pshub::Stop.new, 0) }
    assert trying.join(60), "it still waits"
    assert_equal [false, false], [trying.value, link.ready?]
    assert_match(/no answer within/, link.down_reason)
  ensure
    trying&.kill
    dribbling.kill
    server_of_bytes.close
    link.close
  end

  def test_a_server_that_is_away_is_dialled_once_in_a_while_however_many_want_it
    away = TCPServer.new("127.0.0.1", 0)
    dialled = 0
    refusing = Thread.new do
      loop do
        away.accept.close
        dialled += 1
      end
    end
    link = Pshub::Connection.new("test", "commands", "redis://127.0.0.1:#{away.addr[1]}", 2.0, Pshub::Events.new)
    threads = Array.new(10) { Thread.new { 100.times { assert_raises(Pshub::NotConnected) { link.one("PING") } } } }
    threads.each(&:join)
    assert_includes 1..100, dialled
  ensure
    refusing.kill
    away.close
    link.close
  end

  def test_an_error_answer_is_what_redis_said
    link = ending(Pshub::Connection.new("test", "commands", server.url, 2.0, Pshub::Events.new), :close)
    assert_equal "ERR wrong number of arguments for 'get' command", link.run(%w[GET]).first.message
  end

  # A link on which answers may still come, such as after Timeout.timeout, is not used again, and the next one is greeted.
  def test_an_interrupted_exchange_ends_its_link
    link = ending(Pshub::Connection.new("test", "commands", server.url, 30.0, Pshub::Events.new, asks_id: true), :close)
    assert_equal "pshub-test-commands", link.one("CLIENT", "GETNAME")
    waiting = Thread.new { assert_raises(Interrupt) { link.one("BLPOP", "nothing", "20") } }
    eventually("it waits") { server.client.call("CLIENT", "LIST").include?("cmd=blpop") }
    waiting.raise(Interrupt)
    waiting.join
    assert_equal "pshub-test-commands", link.one("CLIENT", "GETNAME")
  end

  def test_options_that_the_gem_does_not_take_are_told
    skip "the gem redis 4 passes over them" if Redis::VERSION.start_with?("4.")
    error = assert_raises(Pshub::NotEnqueued) { hub({ port: server.port, tcp_keepalive: 60 }).call("add:1.0", { x: 1 }) }
    assert_match(/the redis gem 5\S+ does not take these options: unknown keyword: :tcp_keepalive/, error.message)
  end

  # Whatever it is that waits inside the gem; closing does not wait for it.
  def test_a_name_that_is_not_resolved_holds_up_nothing_else
    calling = nil
    error = Pshub::Link.stub(:new, ->(*) { delay(3600, "nobody answers") }) do
      calling = hub
      assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }, timeout: 600) }
    end
    assert_match(/could not look up/, error.message)
    calling.close
  end
end
