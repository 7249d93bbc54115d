# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../wire/clock"

module Pshub
  # Which tasks no worker of the queue takes at the moment. A request for such a task goes from worker to worker, each of
  # which hands it back; when it has no deadline of its own, nothing else would ever end that.
  class Unserved
    # A look counts for this long, and is not repeated any sooner.
    LOOK_S = 0.5
    # For how long nobody must have taken a task: after an outage the others must have time to renew their leases.
    PATIENCE_S = 2.0
    MAX_TASKS = 1000

    # +missing_since+: when the first of an unbroken row of looks found nobody who takes it; +verdict+: code and message.
    Sight = Struct.new(:looked_at, :missing_since, :verdict)

    # The block asks the registry where a task is, a Registrar::Whereabouts.
    def initialize(queue_name, &whereabouts)
      @queue_name = queue_name
      @whereabouts = whereabouts
      @lock = Mutex.new
      @sights = {}
      @looking = {}
    end

    # What to answer, as code and message; nil as long as somebody may take it. Looks behind the question: it is asked again
    # soon.
    def verdict(task)
      @lock.synchronize do
        sight = @sights[task]
        now = Clock.now
        if (sight.nil? || now - sight.looked_at > LOOK_S) && !@looking[task]
          @looking[task] = true
          Thread.new { look(task) }
        end
        return nil if sight.nil? || now - sight.looked_at > 2 * LOOK_S

        sight.verdict if sight.looked_at - sight.missing_since >= PATIENCE_S
      end
    end

    private

    def look(task)
      where = @whereabouts.call(task)
      @lock.synchronize { where.served ? @sights.delete(task) : missed(task, where) }
    rescue *Connection::PROBLEMS
      # The registry cannot be read; the next look may be luckier.
      nil
    ensure
      @lock.synchronize { @looking.delete(task) }
    end

    def missed(task, where)
      now = Clock.now
      before = @sights[task]
      @sights.clear if before.nil? && @sights.size >= MAX_TASKS
      unbroken = before && now - before.looked_at < PATIENCE_S
      @sights[task] = Sight.new(now, unbroken ? before.missing_since : now, verdict_of(task, where))
    end

    def verdict_of(task, where)
      return ["NoSuchTask", "No worker ever declared #{task}."] unless where.declared

      elsewhere = where.elsewhere ? " It is served in queue #{where.elsewhere}." : ""
      ["NoWorkers", "No live worker of queue #{@queue_name} provides #{task}.#{elsewhere}"]
    end
  end
end
