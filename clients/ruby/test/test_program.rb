# frozen_string_literal: true

require_relative "helper"
require "tempfile"

# The command, and what hostile messages must not do.
class TestProgram < PshubTest
  def run_worker(*arguments, code: nil)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "tasks.rb")
      File.write(file, code) if code
      return program(*arguments, *(file if code), env: { "PSHUB_REDIS" => server.url })
    end
  end

  def said_of(name, code, folder)
    File.write(File.join(folder, name), code) if code
    program(name, folder: folder).reverse
  end

  def test_wrong_usage
    [
      [[], "Name a file that declares tasks, as in: pshub-worker-rb images.rb"],
      [%w[--slits 1], "There is no option --slits. Did you mean --slots?"],
      [%w[tasks.rb --slot=1], "There is no option --slot. Did you mean --job-slots or --slots?"],
      [%w[--grace=1s --slots=2], "Name a file that declares tasks, as in: pshub-worker-rb images.rb"],
      [%w[tasks.rb --max 1], "There is no option --max. Did you mean --max-backlog or --max-payload-bytes?"],
      [%w[tasks.rb --queue], "--queue needs a value."],
      [%w[tasks.rb --queue a --queue=b], "--queue was given twice. A worker in Ruby serves one queue; start one for each."]
    ].each { |arguments, said| assert_equal ["pshub-worker-rb: #{said}\n", 2], run_worker(*arguments) }
    output, status = run_worker("--slots", "none", code: 'task("a:1.0") { 1 }')
    assert_equal ["pshub-worker-rb: --slots must be a whole number from 1 to 256; it is \"none\".\n", 2], [output, status]
    output, status = run_worker("--queue", "a,b", code: 'task("a:1.0") { 1 }')
    said = "pshub-worker-rb: --queue must be the name of one queue, 1 to 64 letters, digits, and _ . -; it is \"a,b\".\n"
    assert_equal [said, 2], [output, status]
    output, status = run_worker("--slots", "0", code: 'task("a:1.0") { 1 }')
    assert_equal ["pshub-worker-rb: --slots must be a whole number from 1 to 256; it is 0.\n", 2], [output, status]
    output, status = run_worker("--log-level", "loud", code: 'task("a:1.0") { 1 }')
    assert_equal ["pshub-worker-rb: --log-level must be debug, info, warn, error or silent; it is 'loud'.\n", 2], [output, status]
  end

  def test_what_is_served_is_a_file_that_declares_tasks
    Dir.mktmpdir do |given|
      folder = File.realpath(given)
      Dir.mkdir(File.join(folder, "folder"))
      [
        ["empty.rb", "1", 2, "empty.rb declares no task. Declare one with task.\n"],
        ["broken.rb", "def act\n  {}.fetch('port')\nend\nact\n", 1,
         "broken.rb failed while loading: KeyError: key not found: \"port\" (#{folder}/broken.rb:2).\n"],
        ["needy.rb", "require 'nowhere_to_be_found'", 1,
         "needy.rb could not be loaded: cannot load such file -- nowhere_to_be_found (#{folder}/needy.rb:1).\n"],
        ["torn.rb", "def f(\nend end", 1, "torn.rb could not be loaded: #{folder}/torn.rb:"],
        ["wrong.rb", "task('no name') { 1 }", 2, "wrong.rb: 'no name' is not a task name. Write name:major.minor"],
        ["nix.rb", nil, 2, "There is no file nix.rb (#{folder}/nix.rb).\n"],
        ["folder", nil, 2, "folder is a directory; give the path of a file in it.\n"]
      ].each do |name, code, exit_code, said|
        status, output = said_of(name, code, folder)
        assert_equal [exit_code, "pshub-worker-rb: #{said}"], [status, output[0, "pshub-worker-rb: #{said}".length]], output
        assert_equal 1, output.lines.size, output
      end
    end
  end

  # A worker that cannot get at its Redis yet; gives what it has said so far.
  def started(url)
    log = Tempfile.new("pshub")
    pid = Process.spawn(*WorkerProcess::COMMAND, "--redis", url, "--grace", "500ms", err: log.path)
    said = -> { File.read(log.path) }
    eventually("what it says of Redis") { said.call.include?("Reconnecting.") }
    yield pid, said
  ensure
    begin
      Process.kill("KILL", pid)
      Process.wait(pid)
    rescue SystemCallError
      # It has ended by itself.
    end
    log&.close!
  end

  def test_it_has_started_once_redis_knows_it_and_not_before
    own_server.kill
    started(server.url.sub("//", "//me:se%40cret@")) do |pid, said|
      assert_includes said.call, "Redis at #{server.url} could not be reached: "
      refute_includes said.call, "worker started"
      refute_includes said.call, "cret"
      server.start
      server.client.call("ACL", "SETUSER", "me", "on", ">se@cret", "~*", "&*", "+@all")
      eventually("its start") { said.call.include?("worker started") }
      assert_equal [1, 1], [server.client.hlen("pshub:workers"), said.call.scan("worker started").size]
      Process.kill("TERM", pid)
      assert_predicate Process.wait2(pid).last, :success?
    end
  end

  WRONG = "Redis rejected this user or password; correct them in the URL, redis://user:password@host (WRONGPASS "

  def test_a_wrong_password_is_told_as_what_it_is
    own_server.client.call("CONFIG", "SET", "requirepass", "secret")
    url = server.url.sub("//", "//:guess@")
    lines = started(url) { |_, said| said.call.lines.map { |line| JSON.parse(line) } }
    assert lines.last["msg"].start_with?("Redis at #{server.url} denies access: #{WRONG}"), lines.last
    told = lines[0..-2].map { |line| [line["level"], line["msg"], line["reason"][0, WRONG.length]] }.uniq
    assert_equal [["error", "Redis denies access; reconnecting", WRONG]], told
    refute_includes lines.to_s, "guess"
    calling = hub(url)
    # On a busy machine the first call may end before its connection was refused.
    eventually("the reason") do
      error = assert_raises(Pshub::NotEnqueued) { calling.call("a:1.0") }
      error.message.start_with?("The hub could not look up a:1.0 in Redis: #{WRONG}")
    end
  end

  def test_a_redis_that_cannot_write_to_its_disk_is_told_as_what_it_is
    own_server
    worker(declare("a:1.0") { 1 })
    calling = hub
    assert_equal 1, calling.call("a:1.0")
    # Its dump cannot be renamed to a name that a folder has.
    Dir.mkdir(File.join(server.client.call("CONFIG", "GET", "dir").last, "dump.rdb"))
    server.client.call("CONFIG", "SET", "save", "3600 1")
    server.client.call("BGSAVE")
    eventually("the failure to save") { refusal.include?("MISCONF") }
    error = assert_raises(Pshub::NotEnqueued) { calling.call("a:1.0") }
    assert error.message.start_with?("Redis refused the request: Redis cannot write to its disk (MISCONF "), error.message
    server.client.call("CONFIG", "SET", "save", "")
  end

  def refusal
    server.client.set("x", 1)
    ""
  rescue Redis::CommandError => e
    e.message
  end

  def test_help_names_all_options
    output, status = run_worker("--help")
    assert_equal 0, status
    %w[redis queue slots namespace grace lease max-payload-bytes max-backlog statsd].each { |name| assert_includes output, "--#{name} " }
  end

  def test_a_signal_shows_where_each_thread_is
    worker = worker_process
    going_on = gate
    called = Thread.new { hub.call("stubborn:1.0", { until: going_on.path }) }
    eventually { server.client.hvals("pshub:stats").any? { |stats| stats.include?('"busy":1') } }
    worker.signal("TTIN")
    eventually { worker.said.match?(/^Thread pshub-slot \(sleep\):\n(  .*\n)*  .*tasks\.rb:\d+/) }
    going_on.open
    assert_equal "done", called.value
    worker.signal("TERM")
    assert_equal 0, worker.wait
  end
end
