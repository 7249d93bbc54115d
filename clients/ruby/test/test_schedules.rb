# frozen_string_literal: true

require_relative "helper"

# Jobs at their times, made, kept up and changed from here.
class TestSchedules < PshubTest
  CRON = "pshub:{default}:cron"
  TICKS = "pshub:{default}:ticks"

  def setup
    super
    @runs = Thread::Queue.new
  end

  def noting = declare("tick:1.0") { |args| (@runs << [Process.clock_gettime(Process::CLOCK_REALTIME), args]) && nil }
  def events_of(serving, name) = Thread::Queue.new.tap { |told| serving.events.on(name) { |event| told << event } }
  def taken(queue) = Array.new(queue.size) { queue.pop }
  def now_ms = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)

  def test_it_comes_once_at_each_of_its_times
    told = Array.new(3) { events_of(worker(noting), "schedule:tick") }
    calling = hub
    schedule = calling.schedule("each-second", { cron: "* * * * * *" }, "tick:1.0", { n: 1 })
    assert_equal ["each-second", "default", "tick:1.0", nil], schedule.to_h.values_at(:name, :queue, :task, :paused_ms)
    eventually("three times") { @runs.size >= 3 }
    assert calling.schedules("default").remove("each-second")
    times = told.flat_map { |events| taken(events).map { |event| event[:tick_ms] } }
    assert_equal times.uniq, times
    assert_empty times.reject { |at| (at % 1000).zero? }
    assert_equal 0, server.client.exists(CRON, TICKS)
    taken(@runs)
    calling.schedule("another", { cron: "* * * * * *" }, "tick:1.0", { n: 2 })
    numbers = Array.new(3) { @runs.pop.last["n"] }
    # One may have been under way.
    assert_includes [[2, 2, 2], [1, 2, 2]], numbers
  end

  def test_it_is_listed_paused_run_resumed_and_removed
    worker(noting)
    calling = hub(name: "shop")
    times = { cron: "0 3 * * *", timezone: "Europe/Berlin" }
    calling.schedule("nightly", times, "tick:1.0", { month: 11 }, retries: 2)
    calling.schedule("early", { cron: "0 1 * * *" }, "tick:1.0")
    schedules = calling.schedules("default")
    early, nightly = schedules.list
    assert_equal %w[early nightly], [early.name, nightly.name]
    expected = Pshub::Cron.next_ms("0 3 * * *", "Europe/Berlin", now_ms)
    assert_equal ["Europe/Berlin", "once", { "month" => 11 }, expected], nightly.to_h.values_at(:timezone, :missed, :args, :next_ms)
    stored = JSON.parse(server.client.hget(CRON, "nightly"))
    assert_equal [{ "retries" => 2 }, "shop", '{"month":11}'], stored.values_at("job", "from", "args")
    assert schedules.pause("nightly")
    assert_nil schedules.list[1].next_ms
    refute_nil schedules.list[1].paused_ms
    # Written anew by the next deployment, it stays so.
    assert_nil calling.schedule("nightly", times, "tick:1.0", { month: 12 }).next_ms
    refute_nil schedules.run("nightly")
    assert_equal({ "month" => 12 }, @runs.pop.last)
    assert schedules.resume("nightly")
    assert_equal expected, schedules.list[1].next_ms
    assert_equal [true, false], [schedules.remove("nightly"), schedules.remove("nightly")]
    calling.schedule("early", { cron: "0 1 * * *" }, "tick:1.0", unique: true, queue: "alone")
    runs = Array.new(2) { calling.schedules("alone").run("early") }
    assert_equal [runs[0].id, true], [runs[1].id, runs[1].twin?]
    assert_equal [false, false, nil], [schedules.pause("nightly"), schedules.resume("nightly"), schedules.run("nightly")]
  end

  WRONG = [
    ["no name!", { cron: "* * * * *" }, "its name must be"],
    ["x", { cron: "daily" }, "cron 'daily': it must have five fields"],
    ["x", { cron: 5 }, "cron must be a string"],
    ["x", "* * * * *", "cron must be a string"],
    ["x", { cron: "* * * * *", timezone: "Mars/Olympus" }, "in Mars/Olympus: there is no such time zone"],
    ["x", { cron: "* * * * *", timezone: 5 }, "in 5: there is no such time zone"],
    ["x", { cron: "* * * * *", missed: "never" }, "missed must be 'once' or 'skip'"],
    ["x", { cron: "* * * * *", every: 5 }, "there is no option 'every'. Known: cron, timezone, missed"],
    ["x", { cron: "0 0 30 2 *" }, "it has no run time in the future"]
  ].freeze

  def test_it_is_refused_with_what_is_wrong
    calling = hub
    WRONG.each do |name, times, message|
      error = assert_raises(Pshub::InvalidArgs, times.inspect) { calling.schedule(name, times, "tick:1.0", {}, queue: "default") }
      assert_includes error.message, message
    end
    assert_raises(Pshub::NoSuchTask) { calling.schedule("x", { cron: "* * * * *" }, "nobody:1.0") }
    error = assert_raises(Pshub::InvalidArgs) { calling.schedule("x", { cron: "* * * * *" }, "nobody:1.0", {}, queue: "q", every: 5) }
    assert_includes error.message, "there is no option 'every'"
    [{ delay_ms: 1000 }, { at: Time.now }].each do |timed|
      error = assert_raises(Pshub::InvalidArgs) { calling.schedule("x", { cron: "* * * * *" }, "tick:1.0", {}, queue: "q", **timed) }
      assert_includes error.message, "is not an option of schedules"
    end
    %i[schedules dead].each do |look|
      assert_includes assert_raises(Pshub::InvalidArgs) { calling.public_send(look, "no queue") }.message, "must be the name of a queue"
      assert_raises(Pshub::InvalidArgs) { calling.public_send(look, nil) }
    end
  end

  def test_a_zone_that_is_not_known_here_is_left_to_others
    far = ->(zone, n) { JSON.generate(cron: "* * * * *", timezone: zone, task: "tick:1.0", args: { n: n }.to_json) }
    past = now_ms - 60_000
    server.client.hset(CRON, "far", far["Mars/Olympus", 1], "near", far["US/Eastern", 2])
    server.client.zadd(TICKS, [[past, "far"], [past + 1, "near"]])
    serving = worker(noting)
    problems = events_of(serving, "problem")
    2.times do
      assert_equal({ "n" => 2 }, @runs.pop.last)
      server.client.zadd(TICKS, past + 1, "near")
    end
    reason = "The schedule far is left to workers that know its time zone: Mars/Olympus is not among the time zones of this host"
    assert_operator problems.pop[:reason], :start_with?, reason
    assert_empty problems
    assert_operator server.client.hget(CRON, "far:problem"), :start_with?, "#{past} Mars/Olympus is not among"
    assert_match(/Mars.Olympus is not among/, assert_raises(Pshub::InvalidArgs) { hub.schedules("default").resume("far") }.message)
    # One that is known.
    server.client.hset(CRON, "far", far["US/Eastern", 3])
    eventually("the one that waited") { @runs.pop.last["n"] == 3 }
    refute server.client.hexists(CRON, "far:problem")
  end

  def test_what_cannot_be_read_is_told_of_and_disturbs_no_other
    calling = hub
    calling.schedule("good", { cron: "* * * * *" }, "tick:1.0", {}, queue: "default")
    worse = JSON.generate(cron: "no times", task: "tick:1.0", args: "{}")
    server.client.hset(CRON, "bad", '{"cron":1}', "worse", worse)
    past = now_ms - 1000
    server.client.zadd(TICKS, [[past, "bad"], [past, "worse"], [past, "gone"], [past, "good"], ["-inf", "ever"]])
    problems = events_of(worker(noting), "problem")
    reasons = Array.new(4) { problems.pop[:reason] }.sort
    reasons.zip(%w[bad ever gone worse]) { |reason, name| assert_match(/\AThe schedule #{name} is invalid/, reason) }
    assert_equal({}, @runs.pop.last)
    eventually("what is left") { server.client.zrange(TICKS, 0, -1) == ["good"] }
    assert_equal %w[good worse], calling.schedules("default").list.map(&:name)
  end

  # Without the gem.
  def without_fugit
    had = Pshub::Cron::MISSING
    Pshub::Cron.send(:remove_const, :MISSING)
    Pshub::Cron.const_set(:MISSING, "schedules need the gem fugit; add it to your Gemfile")
    yield
  ensure
    Pshub::Cron.send(:remove_const, :MISSING)
    Pshub::Cron.const_set(:MISSING, had)
  end

  def test_without_fugit_it_is_said
    calling = hub
    calling.schedule("late", { cron: "0 0 1 1 *" }, "tick:1.0", {}, queue: "default")
    server.client.zadd(TICKS, now_ms - 60_000, "late")
    without_fugit do
      problem = events_of(worker(noting), "problem").pop
      assert_equal "schedule", problem[:where]
      assert_match(/\Ano worker runs the schedules of queue default, and this one cannot: schedules need/, problem[:reason])
      # It leaves the turn to those who can.
      assert_equal [0, 1], %w[ticker turn].map { |name| server.client.exists("pshub:{default}:#{name}") }
      error = assert_raises(Pshub::ConfigError) { calling.schedule("x", { cron: "* * * * *" }, "tick:1.0", {}, queue: "default") }
      assert_equal "Schedules need the gem fugit; add it to your Gemfile.", error.message
      assert_raises(Pshub::ConfigError) { calling.schedules("default").resume("late") }
    end
    assert calling.schedules("default").remove("late")
  end
end
