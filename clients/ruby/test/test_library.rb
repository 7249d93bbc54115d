# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# The library of functions in Redis: missing, of other revisions, and without the right to load it.
class TestLibrary < PshubTest
  TEXT = Pshub::LuaSources.text(Pshub::Library::FILE).freeze

  def setup
    super
    own_server
  end

  def flush = server.client.call("FUNCTION", "FLUSH")
  def load(revision) = server.client.call("FUNCTION", "LOAD", "REPLACE", TEXT.sub(/^local revision = \d+$/, "local revision = #{revision}"))
  def connection(url = server.url) = ending(Pshub::Connection.new("test", "commands", url, 2.0, Pshub::Events.new), :close)
  def install = Pshub::Library.install(connection)

  # The URLs of a hub and a worker that may do what PROTOCOL.md says, and nothing else.
  def users
    rules = File.readlines(File.join(ROOT, "PROTOCOL.md")).grep(/\AACL SETUSER pshub-(hub|worker) /)
    rules.map do |rule|
      server.client.call(*rule.split)
      "redis://#{rule.split[2]}:secret@127.0.0.1:#{server.port}"
    end
  end

  def test_the_revision_is_that_of_the_library
    assert_equal [Pshub::LIBRARY_REVISION.to_s], TEXT.scan(/^local revision = (\d+)$/).flatten
  end

  def test_an_older_revision_is_replaced_and_a_newer_one_is_not
    wanted = Pshub::LIBRARY_REVISION
    [[nil, wanted], [wanted - 1, wanted], [wanted, wanted], [wanted + 1, wanted + 1]].each do |before, after|
      before ? load(before) : flush
      installed = install
      assert_equal [after, true], [installed.revision, installed.fit?]
      assert_equal after, server.client.call("FCALL", "pshub_1_revision", 0)
    end
    load(wanted - 1)
    worker(adder)
    assert_equal wanted, server.client.call("FCALL", "pshub_1_revision", 0)
  end

  def test_a_client_whose_file_is_gone_uses_what_is_there
    Pshub::LuaSources.stub(:text, ->(*) { raise Errno::ENOENT }) do
      assert_equal [nil, "#{Pshub::Library::FILE} is not there"], install.to_a
      load(Pshub::LIBRARY_REVISION)
      assert_predicate install, :fit?
    end
  end

  def test_an_old_server_is_named_without_what_it_was_sent
    told = Pshub::Refusals.explained("ERR unknown command `FCALL`, with args beginning with: `pshub_1_push` `secret` ")
    assert_equal "this server is too old, or is not Redis; Redis 7.0 or newer is required (ERR unknown command `FCALL`)", told
    assert_equal "ERR unknown command `X`", Pshub::Refusals.explained("ERR unknown command `X`, with args beginning with: `secret` ")
  end

  def test_calls_go_on_when_the_functions_are_flushed
    starts = Hash.new(0)
    # Also between a call and its reply.
    worker(declare("once:1.0", timeout: 20) do |args|
      flush if args["n"] < 30
      starts[args["n"]] += 1
      args["n"]
    end)
    calling = hub
    30.times { |n| flush && assert_equal(n, calling.call("once:1.0", { n: n }, timeout: 10)) }
    pending = (30...130).map { |n| calling.submit("once:1.0", { n: n }, timeout: 10) }
    flush
    assert_equal [*30...130], pending.map(&:result)
    eventually("the releases") { server.held.empty? && server.worker_waits? }
    # Then it is the claim that finds none.
    flush
    server.push(%({"task":"once:1.0","id":"by-hand","args":{"n":130}}))
    eventually("the start") { starts.key?(130) }
    assert_equal [131, [1]], [starts.size, starts.values.uniq]
  end

  def test_who_may_not_load_it_is_told_who_must
    hub_url, worker_url = users
    error = assert_raises(Pshub::ConfigError) { worker(adder, url: worker_url) }
    assert_match(/library is missing, and it cannot be loaded: the Redis user lacks a right.*\. Load it with: pshub install\./, error.message)
    install
    ends = Pshub::Stop.new
    serving = worker(adder, declare("late:1.0") { ends.wait && 5 }, url: worker_url)
    calling = hub(hub_url)
    assert_equal [3, 3], [calling.call("add:1.0", { x: 1 }), calling.call("add", { x: 1 })]
    eventually { server.client.hexists("pshub:taskstats", serving.id) }
    pending = calling.submit("late:1.0", {})
    eventually("the start") { serving.busy == 1 }
    flush
    ends.set
    error = assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }) }
    assert_match(/does not have pshub's library, and this user may not load it; run 'pshub install'/, error.message)
    install
    assert_equal [5, 3], [pending.result, calling.call("add:1.0", { x: 1 })]
    calling.close
    serving.stop
    assert_empty server.leftovers
  end
end
