# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"

# Jobs while connections break, answers are lost, Redis is away, full, or refuses.
class TestJobFaults < PshubTest
  JOBS = "pshub:{default}:jobs"

  def setup
    super
    @tries = Thread::Queue.new
  end

  def noting(**options) = declare("note:1.0", backoff: 1, **options) { |args, ctx| (@tries << args) && ctx.attempt }

  def connection = ending(Pshub::Connection.new("test", "commands", server.url, 2.0, Pshub::Events.new), :close)

  # What the rules of PROTOCOL.md allow, and nothing else.
  def user(name)
    rule = File.readlines(File.join(ROOT, "PROTOCOL.md")).find { |line| line.start_with?("ACL SETUSER pshub-#{name} ") }
    server.client.call(*rule.split)
    "redis://pshub-#{name}:secret@127.0.0.1:#{server.port}"
  end

  def test_an_enqueuing_whose_answer_was_lost_is_repeated_and_enqueues_once
    between = proxy
    calling = hub(between.url)
    3.times do |round|
      calling.enqueue("note:1.0", "warm", queue: "default")
      between.loses_answers_from = "u#{round}"
      lost = Thread.new { calling.enqueue("note:1.0", round, queue: "default", unique: "u#{round}") }
      eventually("its arrival") { server.client.llen(JOBS) == (2 * round) + 2 }
      between.cut
      between.loses_answers = false
      refute_predicate lost.value, :twin?
    end
    # Told apart here: two of one id run once, too.
    assert_equal 6, server.client.llen(JOBS)
    worker(noting)
    eventually("all") { @tries.size == 6 && server.held.empty? }
    assert_equal({ "warm" => 3, 0 => 1, 1 => 1, 2 => 1 }, Array.new(6) { @tries.pop }.tally)
  end

  def test_what_cannot_be_sent_in_time_is_told_as_what_it_is
    between = proxy
    calling = hub(between.url)
    calling.enqueue("note:1.0", 1, queue: "default")
    between.loses_answers = true
    error = assert_raises(Pshub::OutcomeUnknown) { calling.enqueue("note:1.0", 2, queue: "default", timeout_ms: 300) }
    assert_match(/did not confirm the job in time/, error.message)
    between.close
    2.times { assert_raises(Pshub::NotEnqueued, Pshub::OutcomeUnknown) { calling.enqueue("note:1.0", 3, queue: "default", timeout_ms: 300) } }
    assert_equal 2, server.client.llen(JOBS)
  end

  def test_a_batch_in_doubt_stays_what_it_was_and_is_given_up_when_redis_may_have_forgotten_its_number
    told = []
    now = 100.0
    outcomes = [Pshub::ReplyError.new("LOADING"), Pshub::ConnectionLost.new, Pshub::NotConnected.new, 5]
    deliver = lambda do
      send_now = -> { (outcome = outcomes.shift).is_a?(Exception) ? raise(outcome) : outcome }
      Pshub::Numbered.deliver(Struct.new(:x) { def wait_ready(*) = true }.new, Pshub::Stop.new,
                              prepare: ->(lost) { (told << lost) && send_now }, on_setback: ->(_, lost) { told << [lost] })
    end
    assert_equal [:answer, 5], deliver.call
    assert_equal [false, [false], false, [true], true, [true], true], told
    outcomes << Pshub::ReplyError.new("WRONGTYPE")
    assert_equal :refused, deliver.call.first
    outcomes.push(Pshub::ConnectionLost.new, Pshub::ReplyError.new("OOM"))
    assert_equal [:unknown], deliver.call
    outcomes.push(Pshub::ConnectionLost.new, 5)
    assert_equal [:unknown], Pshub::Clock.stub(:now, -> { now += 20 }) { deliver.call }
  end

  Crew = Struct.new(:worker_id, :problems, :outs) do
    def problem(where, _) = problems << where
    def forward(pairs, _) = outs.concat(pairs)
  end

  def test_an_end_whose_answer_was_lost_counts_once
    allow_strangers
    queue, job_queue = [Pshub::TaskQueue, Pshub::JobQueue].map { |kind| kind.new("default", Pshub::Keys.new("pshub")) }
    sent = 0
    job_queue.define_singleton_method(:settle) { |*given| super(*given).tap { raise Pshub::ConnectionLost if (sent += 1) == 1 } }
    ends = [["job:a", "retry", 60_000, '"code":"TaskFailed","message":"no"', ""], ["job:b", "done", 0, "1", 'b "ttl":0,"id":"b-2","x":1}']]
    ends.each do |held, *|
      text = %({"at":1,"ttl":0,"id":"#{held[4..]}","job":{"keep":9000},"task":"t:1.0"})
      server.client.hset("pshub:{default}:held:me", held, text)
    end
    role = Pshub::Roles::SettleJobs.new(crew = Crew.new("me", [], []), queue, job_queue, connection, slots = Pshub::Slots.new(Pshub::SlotPool.new(4, 4)))
    ends.each do |each|
      slots.know(each.first, "1")
      role.add(Pshub::Settlement.new(id: each.first, worker_id: "me", job: Pshub::JobEnd.new(*each), slot: slots.take(job: true)))
    end
    assert_equal [0, 2], [slots.busy, slots.known_ids.size]
    role.start
    role.drained(5)
    role.stop
    assert_equal [2, [], []], [sent, slots.known_ids, crew.problems]
    # Both may be claimed once more: tried again, or because Redis has forgotten how it ended.
    assert_equal([false, false], ends.map { |held, *| slots.released?(held) })
    assert_equal(["1"], server.client.zrange("pshub:{default}:retries", 0, -1).map { |text| text[/"tries":(\d+)/, 1] })
    # What the lost answer told of is still held, and found there.
    assert_equal ["out:b:b-2"], server.client.hkeys("pshub:{default}:held:me")
  end

  def test_a_chain_goes_on_through_cuts_and_each_step_runs_once
    between = proxy
    worker(noting, url: between.url, queue: "default")
    worker(declare("there:1.0") { |args| (@tries << args) && 1 }, url: between.url, queue: "b")
    calling = hub
    over = false
    # On a busy machine it may take longer than that to connect: then nothing would ever run.
    cutting = Thread.new do
      seen = -1
      until over
        between.cut if @tries.size > seen
        seen = @tries.size
        delay 0.1, "cuts go on while jobs do"
      end
    end
    chains = Array.new(5) { |n| calling.chain([["note:1.0", n, { queue: "default" }], ["there:1.0", n, { queue: "b" }]]) }
    chains.each { |chain| assert_equal 1, chain.result }
    over = true
    cutting.join
    # A claim whose answer was lost is put back and runs; none runs twice.
    assert_equal((0...5).flat_map { |n| [n, n] }, Array.new(@tries.size) { @tries.pop }.sort)
    eventually("what is done") { server.held.empty? && server.client.keys("*:came:*").empty? }
  end

  def test_what_each_user_may_do
    own_server
    Pshub::Library.install(connection)
    worker(noting, declare("fail:1.0", retries: 1, backoff: 1) { raise "no" }, url: user("worker"))
    worker(declare("there:1.0") { |args| args }, url: user("worker"), queue: "b")
    calling = hub(user("hub"))
    message = assert_raises(Pshub::NotEnqueued) { calling.enqueue("note:1.0", {}) }.message
    assert_match(/may not enqueue jobs in queue default: it lacks .*'pshub check --for jobs'/, message)
    able = hub(user("jobs"))
    assert_equal 1, able.enqueue("note:1.0", {}, tracked: true, delay_ms: 50, unique: true, priority: "high").result
    chain = able.chain([["note:1.0"], ["there:1.0", {}, { pass: "n" }]])
    assert_equal({ "n" => 1 }, chain.result)
    failing = able.batch([["fail:1.0"], ["there:1.0"]], then: ["note:1.0"], failed: ["note:1.0", 7, { tracked: true }])
    assert_equal 1, failing.failed.result
    assert_equal true, able.enqueue("note:1.0", {}, tracked: true, delay_ms: 60_000).cancel
    assert_equal chain.id, able.job(chain.id).id
  end

  def test_a_forked_child_enqueues_by_itself
    worker(noting)
    calling = hub
    job = calling.enqueue("note:1.0", "parent", tracked: true, delay_ms: 500)
    reader, writer = IO.pipe
    child = fork do
      writer.write([calling.id, job.result, calling.enqueue("note:1.0", "child", tracked: true).result].inspect)
      exit!(0)
    end
    writer.close
    id, *results = reader.read.delete('[]" ').split(",")
    Process.wait(child)
    refute_equal calling.id, id
    assert_equal [%w[1 1], 1], [results, job.result]
  end
end
