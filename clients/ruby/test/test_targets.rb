# frozen_string_literal: true

require_relative "helper"

# How users name their Redis: URLs and options, of one server, of sentinels, of a Cluster; and passwords that are asked for.
class TestTargets < PshubTest
  TWO = [{ host: "h1", port: 26_379 }, { "host" => "h2", "port" => 5 }].freeze

  def read(target) = Pshub::Target.read(target)
  def addresses(target) = read(target).addresses.map(&:to_s)

  def test_one_server
    assert_equal [:one, { url: "redis://me:x@h1:7000/0" }], read("redis://me:x@h1:7000/0").to_a.values_at(0, 2)
    assert_equal [:one, { host: "h1", password: "x" }], read({ "host" => "h1", password: "x" }).to_a.values_at(0, 2)
  end

  def test_sentinels
    servers = read("redis+sentinel://me:p%40ss@h1,[::1]:5/mymaster?sentinelUsername=s&sentinelPassword=t%26")
    assert_equal [:sentinel, "mymaster", %w[h1:26379 [::1]:5]], [servers.kind, servers.name, servers.addresses.map(&:to_s)]
    assert_equal({ username: "me", password: "p@ss" }, servers.options)
    assert_equal({ username: "s", password: "t&" }, servers.sentinel_options)
    # Without their own none: the data servers' are not theirs.
    assert_empty read("redis+sentinel://me:secret@h1/m").sentinel_options
    given = { sentinels: [{ host: "h1" }, TWO.last], name: "m", password: "a", sentinel_password: "b", ssl: true }
    assert_equal %w[h1:26379 h2:5], addresses(given)
    assert_equal [{ password: "a", ssl: true }, { ssl: true, password: "b" }, "m"], read(given).to_a.last(3)
  end

  def test_a_cluster
    assert_equal %w[h1:6379 h2:7001], addresses("redis+cluster://:p@h1,h2:7001")
    assert_equal [:cluster, { password: "p" }], read("redis+cluster://:p@h1,h2:7001").to_a.values_at(0, 2)
    assert_equal [%w[h1:26379 h2:5], { username: "u" }], read({ cluster: TWO, username: "u" }).to_a[1, 2].then { |a, o| [a.map(&:to_s), o] }
  end

  def test_tls_is_to_all_of_them
    servers = read("rediss+sentinel://me:x@h1/m")
    assert_equal [true, true], [servers.options[:ssl], servers.sentinel_options[:ssl]]
    assert_equal true, read("rediss+cluster://h1").options[:ssl]
  end

  # A node is reached with the user and the password of the one that was named.
  def test_another_server_with_the_same_options
    there = Pshub::Address.new("h9", 1)
    at = ->(options) { Pshub::Target.at(options, there) }
    assert_equal({ username: "me", password: "p@ss", ssl: true, host: "h9", port: 1 }, at[{ url: "rediss://me:p%40ss@h1:7000" }])
    assert_equal({ password: "x", host: "h9", port: 1 }, at[{ path: "/tmp/redis.sock", password: "x" }])
  end

  WRONG = {
    "localhost" => "must be a URL like redis://127.0.0.1:6379",
    "redis://h1:port" => "must be a URL like",
    6379 => "must be a URL like redis",
    "redis://h1:1,h2:2" => "names several hosts: .*redis\\+sentinel://.*redis\\+cluster://",
    "redis://h1,h2" => "names several hosts",
    "redis+sentinel://h1:26379" => "how the sentinels call the master, as in redis\\+sentinel://",
    "redis+sentinel://h1:26379,,h2/m" => "must name hosts with their ports, as in redis\\+sentinel://",
    "redis+cluster://h1:99999" => "must name hosts with their ports, as in redis\\+cluster://",
    "redis+cluster://h1/3" => "must not name a database: use 0",
    "redis+cluster://h1?sentinelPassword=x" => "can have no options in this URL after its hosts",
    "redis+sentinel://h1/m?password=x" => "but sentinelUsername and sentinelPassword",
    { cluster: TWO, db: 1 } => "must not name a database",
    { sentinels: TWO, cluster: TWO, name: "m" } => "must have sentinels or cluster, not both",
    { cluster: TWO, host: "h" } => "must not have url, host, port or path beside cluster",
    { sentinels: TWO } => "in a hash it is name",
    { sentinels: ["h1:26379"], name: "m" } => "must have in sentinels an array like",
    { cluster: [] } => "must have in cluster an array like",
    { host: "h", name: "m" } => "names no sentinels: give sentinels",
    { cluster: TWO, name: "m" } => "with sentinels only"
  }.freeze

  def test_what_is_wrong_is_told_with_what_to_write_instead
    WRONG.each do |target, told|
      message = assert_raises(Pshub::ConfigError, target.inspect) { Pshub::Hub.new(redis: target) }.message
      assert_match(/\Aoption redis (must|names|can) /, message)
      assert_match(/#{told}/, message, target.inspect)
      # Whatever it was given, it may hold a secret.
      refute_match(/99999|=x/, message)
    end
  end

  SHOWN = {
    "redis://me:sec@ret@h1:7000/0?password=secret" => "redis://h1:7000/0",
    "redis+sentinel://me:secret@h1:26379,h2:5/m?sentinelPassword=secret" => "redis+sentinel://h1:26379,h2:5/m",
    "redis+sentinel://me:secret@h1/m?sentinelPassword=sec@ret" => "redis+sentinel://...",
    { sentinels: TWO, name: "m", sentinel_password: "secret", ssl: true } => "rediss+sentinel://h1:26379,h2:5/m",
    { cluster: TWO, username: "me", password: "secret" } => "redis+cluster://h1:26379,h2:5",
    { host: "h1", port: 7000, password: "secret" } => "h1:7000",
    { url: "redis://me:secret@h1:7000", password: -> { "secret" } } => "redis://h1:7000"
  }.freeze

  def test_what_is_shown_has_no_user_and_no_password
    SHOWN.each { |target, shown| assert_equal shown, Pshub::Target.describe(target) }
  end

  def locked(password)
    own_server.client.config(:set, "requirepass", "first")
    { host: "127.0.0.1", port: server.port, password: password }
  end

  def test_a_password_that_is_asked_for_is_asked_for_each_new_connection
    valid, asked = "first", []
    target = locked(-> { asked.push(valid).last })
    worker(adder, url: target)
    calling = hub(target)
    assert_equal 3, calling.call("add:1.0", { x: 1 })
    assert_equal ["first"] * 4, asked
    valid = "second"
    server.client.config(:set, "requirepass", "second")
    server.client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually { calling.submit("add:1.0", { x: 2 }).outcome.value == 4 }
    assert_equal ["second"], asked.drop(4).uniq
  end

  def test_a_password_that_cannot_be_had_is_told_as_an_outage
    { -> { raise "no token today" } => /no token today/, -> { 5 } => /returned Integer, and no text/ }.each do |password, told|
      calling = hub(locked(password))
      reasons = []
      calling.events.on("redis:down") { |event| reasons << event[:reason] }
      assert_match told, assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }) }.message
      assert_match told, reasons.first
      @server.close
      @server = nil
    end
  end
end
