# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# Nodes of a Cluster that go, or come back.
class TestClusterFailover < ClusterTest
  Ended = Struct.new(:number, :error, :begun, :ended)

  # Calls all along, with numbers of its own.
  class Caller
    attr_reader :ends

    def initialize(hub, queue, start)
      @ends = []
      @stop = Pshub::Stop.new
      @thread = Thread.new do
        until @stop.set?
          number, begun = start + @ends.size, Pshub::Clock.now
          error = hub.submit("mark:1.0", { n: number }, queue: queue, timeout: 3).outcome.error
          @ends << Ended.new(number, error, begun, Pshub::Clock.now)
          # So that a failure that comes at once does not fill the list.
          @stop.wait(0.002)
        end
      end
    end

    def answered = @ends.count { |each| each.error.nil? }

    def until_more(count = 50)
      before = answered
      Support.eventually("answered calls") { answered > before + count }
    end

    def stop
      @stop.set
      @thread.join
      @ends
    end
  end

  def runs = @runs ||= []
  def setup = super && runs

  def marker = declare("mark:1.0") { |args| args["n"].tap { |n| runs << n } }
  def serve(queue, **options) = worker(marker, url: cluster.url, queue: queue, slots: 2, **options)

  def until_another_has(key, gone)
    eventually("the failover") { ![nil, gone].include?(cluster.owner_of(key)) }
  end

  %w[KILL STOP].each do |signal|
    define_method("test_a_replica_takes_over_under_calls_from_a_master_that_got_#{signal}") do
      own_cluster(3)
      # The one that goes has neither the registry's cards nor the replies.
      registry = %w[tasks workers].map { |name| cluster.owner_of("pshub:#{name}") }
      gone = (cluster.masters - registry).first
      near, far = cluster.queue_of(gone), cluster.queue_of(registry.first)
      serving = [near, far].map { |queue| serve(queue) }
      calling = hub_hearing_elsewhere(gone)
      callers = [Caller.new(calling, near, 10_000), Caller.new(calling, far, 20_000)]
      callers.each(&:until_more)
      cluster.signal(gone, signal)
      until_another_has("pshub:{#{near}}:calls", gone)
      callers.each(&:until_more)
      near_ends, far_ends = callers.map(&:stop)
      # The other queue was not touched.
      assert_empty far_ends.filter_map(&:error)
      assert_equal runs.uniq.size, runs.size
      unsent = near_ends.select { |each| each.error.is_a?(Pshub::NotEnqueued) }.map(&:number)
      assert_empty unsent & runs
      assert_empty near_ends.select { |each| each.error.nil? }.map(&:number) - runs
      serving.each { |each| each.stop(grace: 0) }
    end
  end

  def test_jobs_that_a_replica_knows_are_done_when_it_took_over
    own_cluster(3)
    gone = cluster.masters[1]
    queue = cluster.queue_of(gone)
    calling = hub(cluster.url)
    100.times { |n| calling.enqueue("mark:1.0", { n: n }, queue: queue) }
    # These a replica has by then.
    calling.enqueue("mark:1.0", { n: 100 }, queue: queue, durable: "replica")
    cluster.signal(gone, "KILL")
    serve(queue)
    eventually("the jobs") { runs.uniq.size == 101 }
    assert_equal (0..100).to_a, runs.sort
  end

  def test_a_call_to_a_queue_whose_node_is_down_says_so_in_time_and_is_served_when_that_is_back
    own_cluster
    gone = (cluster.masters - [cluster.owner_of("pshub:tasks")]).first
    queue = cluster.queue_of(gone)
    serve(queue)
    calling = hub_hearing_elsewhere(gone)
    assert_equal 1, calling.call("mark:1.0", { n: 1 }, queue: queue)
    cluster.signal(gone, "STOP")
    assert_raises(Pshub::HubError) { calling.call("mark:1.0", { n: 2 }, queue: queue, timeout: 1) }
    error = eventually("a call that is refused") do
      found = calling.submit("mark:1.0", { n: 3 }, queue: queue, timeout: 5).outcome.error
      found if found.is_a?(Pshub::NotEnqueued)
    end
    assert_match(/127.0.0.1:#{gone.port}|did not answer|no answer|CLUSTERDOWN/, error.message)
    refute_includes runs, 3
    cluster.signal(gone, "CONT")
    eventually("a call to the node that is back") { calling.submit("mark:1.0", { n: 4 }, queue: queue, timeout: 2).outcome.error.nil? }
  end
end
