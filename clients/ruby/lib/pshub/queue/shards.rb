# frozen_string_literal: true

require "json"
require_relative "../redis/failures"
require_relative "../redis/library"
require_relative "../wire/crc16"
require_relative "../wire/foreign"
require_relative "../wire/keys"

module Pshub
  # Over which shards a queue is spread: queues of their own. The record lies in the place of each of them. PROTOCOL.md, section 10.20.
  #
  # +names+:: the first one is the queue itself, always
  # +coming+:: work is put where +earlier+ says, still
  # +earlier+:: how it was spread before, as long as something may be left of that; else nil
  Shards = Struct.new(:epoch, :names, :coming, :earlier)

  # Reads records, which others may have written.
  class Shards
    MOST = 256
    # What the functions read of it at the most.
    MAX_LENGTH = 100_000
    BEGINNING = '{"epoch":'
    EPOCH = /\A\{"epoch":([0-9]{1,15}),/n

    class << self
      # As the place of a queue says. nil where that is in one place, or who asks may not read it; what is a shard itself is not spread.
      def of(connection, keys, queue)
        return nil unless Keys.whole_queue(queue) == queue

        read(connection.one("GET", keys.queue(queue).shards), queue)
      rescue ReplyError => e
        raise if e.passing?

        nil
      end

      # A queue and its shards.
      def places(connection, keys, queue) = of(connection, keys, queue)&.served || [queue]

      # The epoch of a record, as the functions see it; 0 for none.
      def epoch_in(text) = text.to_s.b[EPOCH, 1].to_i

      # nil where there is none, or something else, or one of another queue.
      def read(text, queue)
        return nil unless text.is_a?(String) && text.b.start_with?(BEGINNING)

        record = Foreign.object(text, MAX_LENGTH)
        epoch, names, earlier = record.values_at("epoch", "names", "earlier")
        return nil unless Foreign.count?(epoch) && epoch >= 1 && names?(names, queue)
        return nil unless !record.key?("earlier") || names?(earlier, queue)

        new(epoch.to_i, names, record["coming"] == true && !earlier.nil?, earlier)
      rescue Foreign::Unreadable
        nil
      end

      # Where the jobs of a key run.
      def home_of(names, key) = names[Crc16.of(key) % names.size]

      private

      def names?(value, queue)
        value.is_a?(Array) && value.size <= MOST && value.first == queue && Keys.queue_name?(queue) && value.uniq.size == value.size &&
          value.drop(1).all? { |name| Keys.shard_of?(name, queue) }
      end
    end

    # Notes it in the place of a queue or a shard, unless a higher one is there.
    def note(connection, keys, queue)
      record = { "epoch" => epoch, "names" => names, "coming" => coming || nil, "earlier" => earlier }.compact
      Library.run(connection, "shard", [keys.queue(queue).shards], [JSON.generate(record), ""])
    end

    # All that are to be served: those, too, that are none any more.
    def served = names | earlier.to_a
    # Those into which work is put.
    def open = coming ? earlier : names
    def spread? = served.size > 1

    # Where a job with a key is put.
    def home_of(key) = Shards.home_of(open, key)

    # Where jobs of the key may still wait that came before the change; nil where that is where they are put now.
    def former_home_of(key)
      former = Shards.home_of(earlier, key) if earlier && !coming
      former unless former == home_of(key)
    end
  end
end
