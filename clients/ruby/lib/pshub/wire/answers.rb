# frozen_string_literal: true

module Pshub
  # What push told: how many of the batch are in the list, its length before, the +at+ of all of them, whether an earlier
  # try of the same push had arrived after all, and what was taken off each ttl because the push was so long on its way.
  Pushed = Struct.new(:accepted, :length, :at, :repeated, :late_ms) do
    def self.read((accepted, length, at, repeated, late_ms)) = new(accepted, length, at, repeated == 1, late_ms || 0)
  end

  # What claim took, calls first and then jobs: requests are triples of text, the made-up id they are held under, if any, and whether
  # it is a job. +jobs_left+ are jobs that still wait, 0 when the claim was not for jobs.
  Claimed = Struct.new(:now_us, :left, :expired, :requests, :jobs_left) do
    # nil when the lease has ended.
    def self.read((now, texts, left, expired, named, calls, jobs_left))
      return nil if texts == -1

      held = (named || []).each_slice(2).to_h { |position, id| [position - 1, id] }
      requests = texts.each_with_index.map { |text, index| [text, held[index], !calls.nil? && index >= calls] }
      new(now.to_i, left || 0, expired || 0, requests, jobs_left || 0)
    end
  end

  # What beat told; +ended+ are other workers of the queue whose leases have ended, +paused_ms+ is since when the queue is
  # paused (Redis milliseconds), or nil. +due_ms+ is when the first job is due; nil when none waits or another worker looks after that.
  # +tick_ms+ is the same of schedules. +shards+: over which of them the queue is spread, unread; nil where it is not.
  Beat = Struct.new(:now_us, :held, :cancelled, :ended, :paused_ms, :due_ms, :tick_ms, :shards) do
    def self.read((now, held, cancelled, ended, _, paused, due, tick, _, shards))
      times = [paused, due, tick].map { |text| text.to_s.empty? ? nil : text.to_i }
      new(now.to_i, held == 1, cancelled, ended, *times, shards.to_s.empty? ? nil : shards)
    end
  end

  # What was taken over from a lost worker, as pairs of held id and text, and what became of it: the callers of +to_answer+, which
  # this worker holds now, are to be told, +redelivered+ went back to its list, +dead+ are jobs that were given up. +told+ are those who
  # wait for these, as held id, ticket and hub; +outs+ is what is to be done in other queues, held by this worker now. +done+ when
  # nothing is left to take over.
  Adopted = Struct.new(:done, :to_answer, :redelivered, :dead, :told, :outs) do
    # nil when there is nothing to adopt: the other worker lives, or this one has no lease itself.
    def self.read((state, to_answer, back, dead, told, outs))
      return nil if state == -1

      new(state == 1, *[to_answer, back, dead].map { |flat| flat.each_slice(2).to_a }, told.each_slice(3).to_a, outs.each_slice(2).to_a)
    end
  end

  # What the enqueue function made of a batch: +twins+ are those, by place counted from 0, that are not there because a job of the same
  # uniqueness is, with the id of that one.
  Enqueued = Struct.new(:at, :repeated, :twins) do
    def self.read((at, repeated, *twins))
      new(at, repeated == 1, twins.each_slice(2).to_h { |index, id| [index.to_i - 1, id] })
    end
  end

  # How many jobs were moved whose time had come, and when the next one is due; nil when none waits.
  Moved = Struct.new(:now_us, :count, :due_ms) do
    def self.read((now, count, due)) = new(now.to_i, count, due.empty? ? nil : due.to_i)
  end

  # What became of settled jobs: how many dead ones made room, who waits for them as pairs of a JobEnd with a ticket and a hub, and what
  # is to be done in other queues, as pairs of held id and text, held by this worker now.
  SettledJobs = Struct.new(:dropped, :told, :outs) do
    def self.read((dropped, told, outs), ends)
      waiting = told.each_slice(3).map { |index, ticket, hub_id| [ends[index.to_i - 1], ticket, hub_id] }
      new(dropped, waiting, outs.each_slice(2).to_a)
    end
  end
end
