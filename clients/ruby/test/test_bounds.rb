# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# Bounds of what is sent, kept and waited for; with parts alone where what they meet cannot be had from a real Redis.
class TestBounds < PshubTest
  OOM = "OOM command not allowed when used memory > 'maxmemory'."

  # Stands for a connection: the block answers each command, or raises. Keeps what was written.
  class Recorder
    attr_reader :writes

    def initialize(&answer)
      @answer = answer
      @writes = []
    end

    def run(*commands)
      @writes << commands
      commands.map(&@answer)
    end

    # It leads to one server.
    def apart = self
    def spread? = false
    def wait_ready(*) = true
  end

  # What roles ask of the rest of a worker.
  class Crew
    attr_reader :problems, :settled

    def initialize
      @problems = []
      @settled = []
    end

    def worker_id = "me"
    def lease_certain? = true
    def beat_now = true
    def problem(where, _) = @problems << where
    def settle(settlement) = @settled << settlement
    def forward(outs, _) = outs
  end

  def queue = Pshub::TaskQueue.new("q", Pshub::Keys.new("pshub"))
  def connection = ending(Pshub::Connection.new("test", "commands", server.url, 2.0, Pshub::Events.new), :close)

  # Runs the role with these until all is released. Returns its slots.
  def settle(recorder, settlements, size: 256)
    slots = Pshub::Slots.new(Pshub::SlotPool.new(size))
    settlements.each { |each| slots.know(each.id) && each.slot = slots.take }
    role = Pshub::Roles::Settle.new(@crew = Crew.new, queue, recorder, slots)
    settlements.each { |each| role.add(each) }
    role.start
    role.drained(20)
    role.stop
    slots
  end

  def settlement(id, hub, bytes = 10)
    Pshub::Settlement.new(id: id, worker_id: "me", hub_id: hub, reply: JSON.generate(id: id, pad: "x" * bytes))
  end

  def test_a_release_never_runs_before_its_reply_is_answered
    random = Random.new(seed = Random.new_seed % 100_000)
    taken = Hash.new(0)
    recorder = Recorder.new do |name, *words|
      raise Pshub::ConnectionLost, "gone" if random.rand < 0.05
      next Pshub::ReplyError.new(OOM) if random.rand < 0.3

      if name == "HDEL"
        words.drop(1).each { |id| assert taken.key?(id), "#{id} was released before its reply was taken; seed #{seed}" }
      else
        words.drop(4).each { |reply| taken[JSON.parse(reply)["id"]] += 1 }
      end
      1
    end
    slots = settle(recorder, Array.new(300) { |n| settlement("i#{n}", "h#{n % 3}") })
    assert_empty slots.known_ids, "seed #{seed}"
    assert_equal 300, taken.size
    # Taken in one write, and looked at only afterwards.
    recorder.writes.each do |write|
      released = write.select { |command| command.first == "HDEL" }.flat_map { |command| command.drop(2) }
      replied = write.reject { |command| command.first == "HDEL" }.flatten.grep(/\A\{/).map { |reply| JSON.parse(reply)["id"] }
      assert_empty released & replied
    end
  end

  def test_a_job_that_comes_again_before_its_settle_was_answered_is_held_anew
    slots = Pshub::Slots.new(Pshub::SlotPool.new(2))
    assert_equal [true, false, true], %w[1 1 2].map { |at| slots.know("job:a", at) }
    slots.settled([%w[job:a 1]])
    assert_equal [true, "2"], [slots.knows?("job:a"), slots.at_of("job:a")]
    slots.settled([%w[job:a 2]])
    refute slots.knows?("job:a")
  end

  def test_slots_are_free_while_replies_are_refused
    refuses = true
    recorder = Recorder.new { refuses ? Pshub::ReplyError.new(OOM) : 1 }
    slots = Pshub::Slots.new(Pshub::SlotPool.new(4))
    role = Pshub::Roles::Settle.new(Crew.new, queue, recorder, slots)
    role.start
    slots.know("a")
    role.add(settlement("a", "h").tap { |each| each.slot = slots.take })
    eventually("the retries") { recorder.writes.size > 2 }
    assert_equal [0, ["a"], 0], [slots.busy, slots.known_ids, recorder.writes.flatten.count("HDEL")]
    refuses = false
    role.drained(5)
    assert_empty slots.known_ids
    assert slots.released?("a")
  ensure
    role.stop
  end

  def test_a_release_that_is_refused_is_tried_again_and_holds_up_no_reply
    refuses = true
    recorder = Recorder.new { |(name)| name == "HDEL" && refuses ? Pshub::ReplyError.new("NOPERM no") : 1 }
    slots = Pshub::Slots.new(Pshub::SlotPool.new(4))
    role = Pshub::Roles::Settle.new(crew = Crew.new, queue, recorder, slots)
    role.start
    3.times do |n|
      slots.know("a#{n}")
      role.add(settlement("a#{n}", "h"))
      eventually("the reply") { recorder.writes.any? { |write| write.flatten.grep(/"a#{n}"/).any? } }
    end
    eventually("another try") { crew.problems.size > 2 }
    refuses = false
    role.drained(5)
    assert_empty slots.known_ids
  ensure
    role.stop
  end

  def test_what_goes_together_is_divided_by_number_and_bytes
    sizes = ->(entries) { Pshub::Batches.of(entries, &:itself).map(&:size) }
    assert_equal [], sizes.call([])
    assert_equal [256, 256, 88], sizes.call([1] * 600)
    assert_equal [2, 1, 1, 2], sizes.call([400_000, 600_000, 1, 2_000_000, 1, 1])
  end

  def test_pages_of_replies_grow_and_are_bounded
    link = connection
    replies = Array.new(300) { |n| JSON.generate(id: "i#{n}", ok: true, result: "x" * 20_000) }
    server.client.rpush("pshub:reply:{h}", replies)
    asked, seen = [], []
    spy = Object.new
    spy.define_singleton_method(:wait_ready) { |*| true }
    spy.define_singleton_method(:run) do |*commands|
      asked.concat(commands.select { |command| command.first == "LRANGE" }.map { |command| command.last + 1 })
      link.run(*commands)
    end
    inbox = ending(Pshub::Inbox.new(
      spy, "pshub:reply:{h}", "pshub:reply:{h}:read",
      expected: -> { replies.size - seen.size }, on_reply: ->(reply, _) { seen << reply["id"] }, on_problem: ->(text) { raise text }
    ), :stop)
    inbox.start
    eventually("all replies") { seen.size == replies.size }
    assert_equal [8, 16, 32, 49], asked.first(4)
    assert_equal 49, asked.max
    assert_equal replies.size, seen.uniq.size
  end

  def test_a_worker_rests_longer_each_time_after_what_only_others_can_run
    serving = worker(adder, slots: 1)
    times = []
    serving.events.on("request:handedback") { times << Pshub::Clock.now }
    request = { at: server.client.time.then { |seconds, micros| (seconds * 1_000_000) + micros }, ttl: 8000, id: "f" }
    server.push(JSON.generate(**request, task: "other:1.0"))
    eventually("some rounds") { times.size >= 7 }
    rests = times.each_cons(2).map { |before, after| after - before }
    [0.05, 0.1, 0.2, 0.4, 0.4, 0.4].zip(rests) { |least, rest| assert_operator rest, :>=, least - 0.002 }
    assert_equal 0, serving.busy
    # What is its own is run all the same.
    assert_equal 3, hub.call("add:1.0", { x: 1 })
  end

  def test_a_job_that_only_others_can_run_keeps_no_call_waiting
    handed = Queue.new
    going_on = Queue.new
    other = worker(declare("other:1.0") { going_on.pop }, slots: 1)
    worker(adder, slots: 4).events.on("request:handedback") { handed << 1 }
    texts = Array.new(200) { |n| %({"at":#{(Time.now.to_f * 1e6).to_i},"ttl":0,"id":"j#{n}","task":"other:1.0","args":{}}) }
    server.client.rpush("pshub:{default}:jobs", texts)
    server.client.rpush("pshub:{default}:jobbell", "1")
    eventually("a round") { other.busy == 1 && handed.size.positive? }
    calling = hub
    40.times { |n| assert_equal n + 2, calling.call("add:1.0", { x: n }) }
    # One for each time that its jobs rested; each of these calls waited for one of them.
    assert_operator handed.size, :<, 20
    going_on.close
    eventually("all jobs") { server.client.exists("pshub:{default}:jobs").zero? && server.held.empty? }
  end

  def test_slots_are_counted_by_tokens_and_claims_bounded_by_what_is_held
    pool = Pshub::SlotPool.new(2)
    slots = Pshub::Slots.new(pool)
    6.times { |n| assert_equal(true, slots.know("i#{n}")) }
    assert_equal false, slots.know("i0")
    first, second = slots.take, slots.take
    2.times { slots.free(first) }
    assert_equal 1, slots.busy
    slots.free(second)
    waiting = Thread.new { pool.synchronize { (pool.wait until pool.idle.positive?) || pool.idle } }
    eventually("its wait") { waiting.stop? }
    slots.released(%w[i0])
    assert_equal 1, waiting.value
    slots.released(%w[i1 i2])
    assert_equal [2, %w[i3 i4 i5]], [pool.synchronize { pool.idle }, slots.known_ids]
  end

  def test_a_step_of_the_clock_of_redis_is_seen
    clock = Pshub::RedisClock.new
    clock.learn(1_000_000_000, 10.0)
    # Late, and a little ahead: its way was shorter.
    clock.learn(1_000_500_000, 11.0)
    clock.learn(1_002_200_000, 12.0)
    assert_equal(-Float::INFINITY, clock.stepped_at)
    clock.learn(1_008_000_000, 13.0)
    assert_equal 13.0, clock.stepped_at
    # Set back.
    clock.learn(1_001_000_000, 14.0)
    assert_equal 13.0, clock.stepped_at
  end

  # Of a worker that held nothing.
  NOTHING = Pshub::Adopted.new(true, [], [], [], [], [])

  def adopt(crew, adopting, clock)
    Pshub::Roles::Adopt.new(crew, nil, adopting, nil, Pshub::Slots.new(Pshub::SlotPool.new(1)), clock, Pshub::Events.new)
  end

  def test_nothing_is_adopted_for_a_while_after_a_step_of_the_clock
    clock = Struct.new(:stepped_at).new(-Float::INFINITY)
    asked = []
    adopting = queue.tap { |each| each.define_singleton_method(:adopt) { |_, lost, _| (asked << lost) && NOTHING } }
    now = 100.0
    Pshub::Clock.stub(:now, -> { now }) do
      role = adopt(Crew.new, adopting, clock)
      beat = lambda do |seconds|
        now += seconds
        role.note_beat
        role.adopt_from(["lost"])
        asked.size
      end
      assert_equal [0, 1], [beat[1], beat[1.5]]
      clock.stepped_at = now
      assert_equal [1, 1, 2], [beat[1], beat[0.9], beat[0.2]]
    end
  end
end
