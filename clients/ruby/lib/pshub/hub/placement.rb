# frozen_string_literal: true

require_relative "../queue/job_queue"
require_relative "../queue/shards"
require_relative "../redis/connection"
require_relative "../redis/library"
require_relative "../wire/clock"
require_relative "../wire/errors"

module Pshub
  # Into which shard of a queue work goes that is spread over some.
  class Placement
    # So many keys are asked for at once.
    BATCH = 256
    # A change is noted in all places within milliseconds; a place that lost it is told by workers, with a beat.
    PATIENCE_S = 5.0
    LOOK_AGAIN_S = 0.01

    # Of two live shards that are drawn the one with fewer calls under way for each slot (power of two choices). +live+: slots by shard;
    # the block gives the Outbox of one.
    def self.lighter(live)
      live.keys.sample(2).min_by do |name|
        outbox = yield(name)
        [outbox.down? ? 1 : 0, outbox.in_flight.fdiv(live[name])]
      end
    end

    # +host+ is a JobHost.
    def initialize(host)
      @host = host
      @next = 0
    end

    # Where a key of a queue is.
    def home_of(queue, task, key) = homes(queue, shards_of(queue), [[task, key]]).values.first

    # Gives each of these jobs a shard as its queue, where that is spread over several. Merged and unique ones stay in the queue's own
    # place, which it always has.
    def spread(steps)
      keyed, others = steps.select { |step| step.shards && !step.job&.key?("merged") }.partition { |step| step.job&.key?("key") }
      keyed.group_by { |step| [step.queue, step.shards] }.each do |(queue, shards), some|
        found = homes(queue, shards, some.map { |step| key_of(step) }.uniq)
        some.each { |step| step.queue = found[key_of(step)] }
      end
      others.each { |step| step.queue = next_of(step.shards.open) unless step.job&.key?("unique") }
      steps
    end

    private

    def shards_of(queue) = @host.ask { |connection| Shards.of(connection, @host.keys, queue) }
    def key_of(step) = [step.task, step.job["key"]]

    # One after the other.
    def next_of(names) = names[(@next += 1) % names.size]

    # Where jobs of these keys go, each given with its task: home, unless those that came before the number of shards was changed are where
    # they were then: behind these it keeps its order. A place that knows other shards than this hub has it look again; while a change is
    # being noted, some do.
    def homes(queue, shards, keys)
      finish = Clock.now + PATIENCE_S
      found = {}
      loop do
        keys.each { |each| found[each] = shards ? shards.home_of(each.last) : queue }
        told = told_of(shards, keys)
        told.each { |each, count| found[each] = shards.former_home_of(each.last) if count == 1 }
        keys = told.select { |_, count| count == JobQueue::OTHER_SHARDS }.keys
        return found if keys.empty?
        if Clock.now >= finish
          raise NotEnqueued.new("The shards of queue #{queue} are changing, and not all of them know the new number yet.", task: keys.first.first)
        end

        sleep LOOK_AGAIN_S
        shards = shards_of(queue)
      end
    end

    # What the former homes tell of those keys that have one.
    def told_of(shards, keys)
      moving = shards ? keys.select { |_, key| shards.former_home_of(key) } : []
      moving.each_slice(BATCH).flat_map do |some|
        commands = some.map { |task, key| @host.queue_of(shards.former_home_of(key)).has_key_command(task, key, shards.epoch) }
        some.zip(@host.ask { |connection| Connection.checked(Library.send_all(connection, *commands)) })
      end.to_h
    end
  end
end
