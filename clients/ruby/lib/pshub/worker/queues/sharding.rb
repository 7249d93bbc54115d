# frozen_string_literal: true

require_relative "../../queue/shards"
require_relative "../../wire/keys"

module Pshub
  # Over which shards the queue of a worker is spread, as its beats tell.
  class Sharding
    # The block is told which shards are to be served, when that is news.
    def initialize(queue, keys, &on_shards)
      @whole = Keys.whole_queue(queue)
      @keys = keys
      @on_shards = on_shards
      @lock = Mutex.new
      # By place: what was read there last, and its epoch.
      @texts = {}
      @epochs = {}
    end

    # What the last beat for that place told, for claims; 0 for nothing. Of what cannot be read, too: it must not keep work back.
    def epoch_of(place) = @epochs.fetch(place, 0)

    # The shard where the jobs of a key run that were taken in this one.
    def home_of(place, key)
      known = @known
      known ? Shards.home_of(known.names, key) : place
    end

    # Each beat brings the record, and it is nearly always what it was.
    def note_beat(place, text)
      return if text == @texts[place]

      told = Shards.read(text, @whole)
      news = @lock.synchronize do
        # Ahead of the epoch: what a claim takes by that belongs where this says.
        is_news = told && (@known.nil? || told.epoch > @known.epoch)
        @known = told if is_news
        @texts = { **@texts, place => text }
        @epochs = { **@epochs, place => Shards.epoch_in(text) }
        is_news
      end
      @on_shards.call(told.served) if news
    end

    # A place that is behind what is known elsewhere is brought up to that.
    def bring_up(place, connection)
      known = @known
      known.note(connection, @keys, place) if known && epoch_of(place) < known.epoch && known.served.include?(place)
    end

    # It was a shard, and is none any more; nor may there be anything of before.
    def gone?(place) = !@known.nil? && !@known.served.include?(place)
  end
end
