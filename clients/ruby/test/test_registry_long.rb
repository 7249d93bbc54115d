# frozen_string_literal: true

require_relative "helper"

# Records in Redis that may be anything.
class TestRegistryLong < PshubTest

  # Arbitrary JSON, also in the place of a single member, in all that is read; and types of keys.
  def test_arbitrary_records_hurt_nothing
    random = Random.new(seed = Random.new_seed % 100_000)
    150.times do |round|
      @random = random
      spoilt = spoilt_of(CARD), spoilt_of(WORKER), spoilt_of({ "seen" => 1, "draining" => false })
      server.client.hset("pshub:tasks", "healthy:2.0", spoilt[0])
      server.client.hset("pshub:tasks", "healthy:1.0@#{any_text}", spoilt_of({ **CARD, "task" => "healthy:1.0" }))
      junk_worker(spoilt[1])
      server.client.hset("pshub:stats", "junk", spoilt[2])
      called = (round % 2).zero? ? "healthy:1.0" : "healthy:1"
      call = hub.submit(called, {}, timeout: 3)
      # A made-up card of a version that a made-up worker takes leads there; a call of the version itself must not.
      assert_equal "well", call.result, "seed #{seed}" if called == "healthy:1.0"
      assert_includes ["well", nil], call.outcome.value, "seed #{seed}"
      @endings.pop.call
    ensure
      repair
    end
  end

  def spoilt_of(record)
    return any(3).then { |value| generate(value) } if @random.rand < 0.2
    return any_text if @random.rand < 0.1

    generate({ **record, record.keys.sample(random: @random) => any(3), any_text => any(2) })
  end

  def generate(value) = JSON.generate(value, max_nesting: 0)

  def any(depth)
    kinds = [nil, true, false, 0, -1, 1.5, 2**70, 1e308, -> { any_text }, -> { @random.rand(10**12) }]
    kinds += [-> { Array.new(@random.rand(3)) { any(depth - 1) } }, -> { { any_text => any(depth - 1) } }] * 4 if depth.positive?
    kinds.sample(random: @random).then { |kind| kind.respond_to?(:call) ? kind.call : kind }
  end
end
