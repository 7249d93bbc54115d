# frozen_string_literal: true

module Pshub
  # What push told: how many of the batch are in the list, its length before, the +at+ of all of them, whether an earlier
  # try of the same push had arrived after all, and what was taken off each ttl because the push was so long on its way.
  Pushed = Struct.new(:accepted, :length, :at, :repeated, :late_ms) do
    def self.read((accepted, length, at, repeated, late_ms)) = new(accepted, length, at, repeated == 1, late_ms || 0)
  end

  # What claim took: requests are pairs of text and the made-up id they are held under, if any.
  Claimed = Struct.new(:now_us, :left, :expired, :requests) do
    # nil when the lease has ended.
    def self.read((now, texts, left, expired, named))
      return nil if texts == -1

      held = (named || []).each_slice(2).to_h { |position, id| [position - 1, id] }
      new(now.to_i, left || 0, expired || 0, texts.each_with_index.map { |text, index| [text, held[index]] })
    end
  end

  # What beat told; +ended+ are other workers of the queue whose leases have ended, +paused_ms+ is since when the queue is
  # paused (Redis milliseconds), or nil.
  Beat = Struct.new(:now_us, :held, :cancelled, :ended, :paused_ms) do
    def self.read((now, held, cancelled, ended, _, paused))
      new(now.to_i, held == 1, cancelled, ended, paused.to_s.empty? ? nil : paused.to_i)
    end
  end

  # What was taken over from a lost worker, as pairs of held id and text, and what became of it: the callers of +to_answer+, which
  # this worker holds now, are to be told, +redelivered+ went back to its list, +dead+ are jobs that were given up. +done+ when
  # nothing is left to take over.
  Adopted = Struct.new(:done, :to_answer, :redelivered, :dead) do
    # nil when there is nothing to adopt: the other worker lives, or this one has no lease itself.
    def self.read((state, *lists))
      state == -1 ? nil : new(state == 1, *lists.map { |flat| flat.each_slice(2).to_a })
    end
  end
end
