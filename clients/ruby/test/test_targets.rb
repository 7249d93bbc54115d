# frozen_string_literal: true

require_relative "helper"

# How users name their Redis: URLs and options, of one server, of sentinels, of a Cluster; and passwords that are asked for.
class TestTargets < PshubTest
  TWO = [{ host: "h1", port: 26_379 }, { "host" => "h2", "port" => 5 }].freeze

  def read(target) = Pshub::Target.read(target)
  def addresses(target) = read(target).addresses.map(&:to_s)

  def test_one_server
    assert_equal({ host: "h1", port: 1, username: "me", password: "y" }, read({ url: "redis://me:x@h1:1", password: "y" }).options)
    assert_equal [:one, { host: "h1", password: "x" }], read({ "host" => "h1", password: "x" }).to_a.values_at(0, 2)
  end

  def test_sentinels
    # Without their own none: the data servers' are not theirs.
    assert_empty read("redis+sentinel://me:secret@h1/m").sentinel_options
    given = { sentinels: [{ host: "h1" }, TWO.last], name: "m", password: "a", sentinel_password: "b", ssl: true }
    assert_equal %w[h1:26379 h2:5], addresses(given)
    assert_equal [{ password: "a", ssl: true }, { ssl: true, password: "b" }, "m"], read(given).to_a.last(3)
  end

  def test_a_cluster
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
    assert_equal({ username: "me", password: "p@ss", ssl: true, host: "h9", port: 1 }, at[read("rediss://me:p@ss@h1:7000").options])
    assert_equal({ password: "x", host: "h9", port: 1 }, at[{ path: "/tmp/redis.sock", password: "x" }])
  end

  WRONG = {
    6379 => "must be a URL like redis",
    { cluster: TWO, db: 1 } => "must not name a database",
    { sentinels: TWO, cluster: TWO, name: "m" } => "must have sentinels or cluster, not both",
    { cluster: TWO, host: "h" } => "must not have host, port or path beside cluster",
    { sentinels: TWO } => "in a hash it is name",
    { sentinels: ["h1:26379"], name: "m" } => "must have in sentinels an array like",
    { cluster: [] } => "must have in cluster an array like",
    { host: "h", name: "m" } => "names no sentinels: give sentinels",
    { cluster: TWO, name: "m" } => "with sentinels only"
  }.freeze

  def test_what_is_wrong_is_told_with_what_to_write_instead
    WRONG.each do |target, told|
      message = assert_raises(Pshub::ConfigError, target.inspect) { Pshub::Hub.new(redis: target) }.message
      assert_match(/\Aoption redis (must|names|has) /, message)
      assert_match(/#{told}/, message, target.inspect)
      # Whatever it was given, it may hold a secret.
      refute_match(/99999|=x/, message)
    end
  end

  SHOWN = {
    { sentinels: TWO, name: "m", sentinel_password: "secret", ssl: true } => "rediss+sentinel://h1:26379,h2:5/m",
    { cluster: TWO, username: "me", password: "secret" } => "redis+cluster://h1:26379,h2:5",
    { host: "h1", port: 7000, password: "secret" } => "h1:7000",
    { url: "redis://me:secret@h1:7000", password: -> { "secret" } } => "h1:7000"
  }.freeze

  def test_what_is_shown_has_no_user_and_no_password
    SHOWN.each { |target, shown| assert_equal shown, Pshub::Target.describe(target) }
  end

  def test_urls_mean_the_same_in_all_languages
    cases = vectors("addresses.json")
    cases["taken"].each do |wanted|
      servers = read(wanted["url"])
      options = servers.options.dup
      nodes = options[:host] ? [options.values_at(:host, :port)] : servers.addresses.map(&:to_a)
      own = { "sentinelUsername" => :username, "sentinelPassword" => :password }.transform_values { |name| servers.sentinel_options&.[](name) }
      found = { "kind" => servers.kind.to_s, "hosts" => nodes, "tls" => options[:ssl], "name" => servers.name, **own,
                **options.slice(:username, :password, :path).transform_keys(&:to_s) }
      assert_equal wanted, { "url" => wanted["url"], **found.compact, "shown" => Pshub::Target.describe(wanted["url"]) }
    end
    cases["refused"].each do |wrong|
      told = Pshub::Target.wrong(wrong["url"])
      assert told&.start_with?(wrong["told"]), "#{wrong} #{told}"
      # Whatever it was given, it may be a part of a password.
      refute_match(/mar|ker/, told)
    end
  end

  def test_variables_mean_the_same_in_all_languages
    cases = vectors("settings.json")
    known = Pshub::SETTINGS.to_h { |name, setting| [setting.env, [name, setting.users.first]] }
    (cases["taken"] + cases["refused"]).each do |given|
      name, user = known[given["variable"]]
      next unless name

      ENV[given["variable"]] = given["text"]
      read = -> { Pshub::Settings.new(user, {}).public_send(name) }
      if given["told"]
        assert_equal given["told"], assert_raises(Pshub::ConfigError, &read).message
      else
        assert_equal given["value"], %i[grace lease].include?(name) ? read.call * 1000 : read.call
      end
    ensure
      ENV.delete(given["variable"])
    end
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
    { -> { raise "no token today" } => /no token today/, -> { 5 } => /returned Integer, not a string/ }.each do |password, told|
      calling = hub(locked(password))
      reasons = []
      calling.events.on("redis:down") { |event| reasons << event[:reason] }
      assert_match told, assert_raises(Pshub::NotEnqueued) { calling.call("add:1.0", { x: 1 }) }.message
      assert_match told, reasons.first
      @server.close
      @server = nil
    end
  end

  def test_a_url_may_hold_a_password_as_it_is_and_white_space_is_told
    password = "57#W%c/?@+ ä[]b"
    own_server.client.config(:set, "requirepass", password)
    worker(adder, url: "redis://:#{password}@127.0.0.1:#{server.port}")
    assert_equal 3, hub("redis://:#{password}@127.0.0.1:#{server.port}").call("add:1.0", { x: 1 })
    wrong = hub("redis://:#{password}%0A@127.0.0.1:#{server.port}")
    message = assert_raises(Pshub::NotEnqueued) { wrong.call("add:1.0", { x: 1 }) }.message
    assert_includes message, "(WRONGPASS the password that was given begins or ends with white space: invalid"
    refute_includes message, "57#"
  end

  # What another library is told of another Redis is nothing to this one.
  def test_another_redis_of_the_environment_is_not_looked_at
    ENV["REDIS_URL"] = "redis://:secret@127.0.0.1:1/3"
    target = { host: "127.0.0.1", port: own_server.port }
    worker(adder, url: target)
    assert_equal 3, hub(target).call("add:1.0", { x: 1 })
  ensure
    ENV.delete("REDIS_URL")
  end
end
