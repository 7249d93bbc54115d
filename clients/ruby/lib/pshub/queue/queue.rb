# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../redis/library"
require_relative "../wire/answers"
require_relative "batches"

module Pshub
  # A queue's operations, one atomic step each; nothing above writes a Redis command of a queue.
  class TaskQueue
    # A hub's push numbers are remembered this long, and a push in doubt is repeated for half of it at most.
    PUSH_MEMORY_MS = 60_000
    # Replies that nobody fetches go after this long.
    REPLY_TTL_MS = 60_000
    # Each live worker has read the word by then: they look every second.
    CANCEL_MEMORY_MS = 5000
    ADOPT_BATCH = 64
    # Jobs that are kept when they were given up; the oldest make room, and go after so long.
    MAX_DEAD = 10_000
    DEAD_MS = 180 * 24 * 3600 * 1000
    # A worker that looks after what is due and does not beat for this long is replaced by another one.
    TURN_MS = 1200
    # It leaves it to others to report its queue's length.
    REPORTS_MS = 0

    attr_reader :name

    def initialize(name, all_keys)
      @name = name
      @all_keys = all_keys
      @keys = all_keys.queue(name)
    end

    # Keys of its bells, by what they ring for.
    def bells = @bells ||= { calls: @keys.bell, jobs: @keys.job_bell, due: @keys.due_bell }

    # The block is called right before the push is written.
    def push(connection, hub_id, number, max_length, messages, counted_at_us, &block)
      keys = [@keys.calls, @keys.bell, @keys.pushed(hub_id)]
      args = [number, PUSH_MEMORY_MS, max_length, counted_at_us, *messages]
      Pushed.read(Library.run(connection, "push", keys, args, &block))
    end

    # Takes requests for idle slots, +jobs+ of which may go to jobs; nil when the worker has to beat first. With +wait+ the bell is waited for
    # first, in the same write, and with +jobs+ those of the jobs: Redis runs the claim the moment one rings. The block is called when
    # it was that of a job that is due before all others. +epoch+ is that of the queue's shards, as the last beat told it; with another
    # one there are no jobs. +merging+ are the tasks that this worker merges.
    def claim(connection, worker_id, slots, jobs, wait:, epoch:, merging: [])
      keys = [@keys.calls, @keys.bell, @keys.held(worker_id), @keys.leases, @keys.jobs, @keys.job_bell]
      bells = [@keys.bell, *([@keys.job_bell, @keys.due_bell] if jobs.positive?)]
      ahead = wait ? [["BLPOP", *bells, wait]] : []
      args = [worker_id, slots, jobs, Batches::MAX_BYTES, epoch]
      args += merging.flat_map { |each| [each.full_name, each.batch, each.max_payloads] } if jobs.positive?
      *rung, answer = Library.send_all(connection, *ahead, Library.command("claim", keys, args))
      Connection.checked([answer, *rung])
      yield if rung.first && rung.first.first == @keys.due_bell
      Claimed.read(answer)
    end

    # Ends a wait for the bell early, over another connection; does nothing when it is over. Refused or lost, it ends by itself. False
    # when it was over, or has not arrived yet.
    def end_wait(connection, client_id)
      connection.run(["CLIENT", "UNBLOCK", client_id]).first != 0
    rescue NotConnected, ConnectionLost
      true
    end

    # The command that puts replies on a hub's list. Always the function, which a full Redis takes.
    def reply_command(hub_id, replies) = Library.command("reply", [@all_keys.reply(hub_id)], [REPLY_TTL_MS, *replies])

    # How many chunks of a stream its caller says that it has taken; nil where it says nothing.
    def taken(connection, hub_id, id)
      said = connection.one("GET", @all_keys.taken(hub_id, id))
      said.to_i if said&.match?(/\A[0-9]{1,16}\z/)
    end

    # The command that forgets settled requests. Never sent before their replies are in Redis: a crash in between repeats a reply,
    # which is harmless.
    def release_command(worker_id, ids) = ["HDEL", @keys.held(worker_id), *ids]

    # +moves+: whether this worker would look after what is due, if no other one does. Returns the beat and the ids of what is held, nil
    # where Redis did not say so. In one packet: of thousands of workers Redis has more to do for the packets than for what is asked.
    def beat(connection, worker_id, lease_ms, first:, moves: false, ticks: false)
      keys = [@keys.leases, @keys.cancelled, @keys.reporter, @keys.calls, @keys.paused, @keys.held(worker_id), @keys.jobs]
      args = [worker_id, lease_ms, first ? 1 : 0, CANCEL_MEMORY_MS, REPORTS_MS, *[moves, moves && ticks].map { |has| has ? TURN_MS : 0 }]
      answer, held = Library.send_all(connection, Library.command("beat", keys, args), held_ids_command(worker_id))
      [Beat.read(Connection.checked([answer]).first), held.is_a?(Array) ? held : nil]
    end

    # Puts held requests back as they are. +side+ is +head+ or +tail+. Returns how many were still held.
    def handback(connection, worker_id, side, ids)
      keys = [@keys.held(worker_id), @keys.calls, @keys.bell, @keys.jobs, @keys.job_bell]
      Library.run(connection, "handback", keys, [side, *ids])
    end

    # nil when there is nothing to adopt: the other worker lives, or this one has no lease itself.
    def adopt(connection, lost_id, worker_id)
      lists = [@keys.calls, @keys.bell, @keys.jobs, @keys.job_bell]
      keys = [@keys.leases, @keys.held(lost_id), @keys.held(worker_id), *lists]
      args = [lost_id, worker_id, ADOPT_BATCH, Batches::MAX_BYTES, MAX_DEAD, DEAD_MS]
      Adopted.read(Library.run(connection, "adopt", keys, args))
    end

    # True when the request still waited and is gone now; else the worker that runs it is told with its next beat.
    def cancel(connection, id, text)
      Library.run(connection, "cancel", [@keys.calls, @keys.cancelled], [id, text, CANCEL_MEMORY_MS]) == 1
    end

    def held_ids(connection, worker_id) = connection.one(*held_ids_command(worker_id))

    def held_ids_command(worker_id) = ["HKEYS", @keys.held(worker_id)]

    # What is held under some of these ids, as pairs of id and text: one after the other, until the texts are as long as an answer
    # may be.
    def held_texts(connection, worker_id, ids)
      bytes = 0
      ids.each_with_object([]) do |id, found|
        break found if bytes >= Batches::MAX_BYTES

        text = connection.one("HGET", @keys.held(worker_id), id) or next
        found << [id, text]
        bytes += text.bytesize
      end
    end

    # Ends the lease and puts back all that may be run by another worker; +started+ are the ids of what was started here. Returns
    # how many went back.
    def leave(connection, worker_id, started)
      keys = [@keys.held(worker_id), @keys.calls, @keys.bell, @keys.leases, @keys.jobs, @keys.job_bell, @keys.reporter]
      Library.run(connection, "leave", keys, [worker_id, *started])
    end
  end
end
