# frozen_string_literal: true

module Pshub
  # What goes in one write.
  module Batches
    # What one answer or one write may hold, but for a single message that is larger: on a slow link more of it comes too late.
    MAX_BYTES = 1_000_000
    MOST = 256

    # Divides what is sent together: neither more than 256 entries nor much more than a megabyte goes in one write. The block tells
    # how many bytes an entry has.
    def self.of(entries)
      count = bytes = 0
      entries.slice_when do |before, after|
        count += 1
        bytes += yield(before)
        full = count == MOST || bytes + yield(after) > MAX_BYTES
        count = bytes = 0 if full
        full
      end
    end
  end
end
