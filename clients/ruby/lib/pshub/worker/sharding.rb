# frozen_string_literal: true

require_relative "../queue/shards"
require_relative "../wire/keys"

module Pshub
  # Over which shards the queue of a worker is spread, as its beats tell. The worker serves one of them.
  class Sharding
    # What the last beat told, for claims; 0 for nothing. Of what cannot be read, too: it must not keep work back.
    attr_reader :epoch

    def initialize(queue)
      @queue = queue
      @epoch = 0
    end

    # Each beat brings the record, and it is nearly always what it was.
    def note_beat(beat)
      return if !beat.held || beat.shards == @text

      @text = beat.shards
      told = Shards.read(@text, Keys.whole_queue(@queue))
      # Ahead of the epoch: what a claim takes by that belongs where this says.
      @known = told if told && (@known.nil? || told.epoch > @known.epoch)
      @epoch = Shards.epoch_in(@text)
    end

    # The shard where the jobs of a key run that were taken in this one.
    def home_of(key)
      known = @known
      known ? Shards.home_of(known.names, key) : @queue
    end
  end
end
