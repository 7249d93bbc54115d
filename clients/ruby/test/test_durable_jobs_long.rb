# frozen_string_literal: true

require_relative "helper"

# Jobs that are acknowledged when a replica has them, too.
class TestDurableJobs < PshubTest
  # A replica that follows through a proxy.
  def setup
    super
    @server = ending(Server.new("--repl-diskless-sync-delay", "0"), :close)
    @between = ending(Proxy.new(@server.port), :close)
    @replica = ending(Server.new("--replicaof", "127.0.0.1", @between.url[/\d+\z/]), :close)
    Support.eventually("the replica") { @replica.client.info("replication")["master_link_status"] == "up" }
    @calling = hub(@server.url)
  end

  def enqueue(number, **options) = @calling.enqueue("job:1.0", { n: number }, queue: "q", **options)

  def test_a_durable_job_is_on_a_replica_when_it_is_acknowledged
    confirmed = 1.upto(20).count do |n|
      next false unless confirmed? { enqueue(n, durable: "replica") }

      assert_equal n, @replica.client.llen("pshub:{q}:jobs")
      true
    end
    assert_operator confirmed, :>, 0
    many = Array.new(300) { |n| ["job:1.0", { n: n }] }
    return unless confirmed? { @calling.enqueue_many(many, queue: "q", durable: "replica") }

    assert_equal 320, @replica.client.llen("pshub:{q}:jobs")
  end

  # On a machine with much to do, a replica may take longer to confirm than a hub waits for it.
  def confirmed?
    yield
    true
  rescue Pshub::OutcomeUnknown
    false
  end

  def test_one_that_no_replica_confirms_is_told_of_and_holds_up_no_other_one
    enqueue(1)
    @between.loses_answers = true
    durable = Thread.new { assert_raises(Pshub::OutcomeUnknown) { enqueue(2, durable: "replica") } }
    enqueue(3)
    assert_match(/\AThe job is in Redis, but no replica confirmed it within 1000 ms/, durable.value.message)
    assert_equal 3, @server.client.llen("pshub:{q}:jobs")
  end

  def test_one_whose_answer_was_lost_is_confirmed_when_it_is_sent_again
    front = ending(Proxy.new(@server.port), :close)
    @calling = hub(front.url)
    confirmed? { enqueue(1, durable: "replica") } # opens the connection
    front.loses_answers = true
    again = Thread.new { enqueue(2, durable: "replica", timeout_ms: 10_000) }
    eventually { @replica.client.llen("pshub:{q}:jobs") == 2 }
    front.loses_answers = false
    front.cut
    again.value
    assert_equal 2, @replica.client.llen("pshub:{q}:jobs")
  end

  def test_durable_is_for_what_is_enqueued_now_and_for_replicas
    wrong = assert_raises(Pshub::InvalidArgs) { enqueue(1, durable: "disk") }
    assert_match(/durable must be 'replica', not/, wrong.message)
    [
      -> { @calling.schedule("s", { cron: "0 0 * * *" }, "job:1.0", {}, queue: "q", durable: "replica") },
      -> { @calling.enqueue_many([["job:1.0", {}, { durable: "replica" }]], queue: "q") }
    ].each { |refused| assert_match(/durable is no option of/, assert_raises(Pshub::InvalidArgs, &refused).message) }
  end
end
