# frozen_string_literal: true

module Pshub
  # The bells of several queues at once: one waits for them, and looks at them. Queues are TaskQueues.
  module Bells
    KINDS = %i[calls jobs due].freeze

    module_function

    # Waits until one of them rings, and takes its token: those of calls go before those of jobs, which are listened to for queues in
    # +jobs_of+. Returns the queue and the kind; nil when none did for so many seconds, or the wait was ended. On a Cluster all must be in one slot.
    def wait(connection, queues, jobs_of, seconds)
      bells = KINDS.flat_map do |kind|
        (kind == :calls ? queues : jobs_of).map { |queue| [queue.bells[kind], [queue, kind]] }
      end.to_h
      # To Redis, 0 is for ever.
      key, = connection.one("BLPOP", *bells.keys, [seconds, 0.01].max.round(3))
      bells[key]
    end

    # Which have a token: there is work that nobody has been woken for. Yields each queue whose place answers, with whether calls and jobs wait.
    def look(connection, queues)
      answers = connection.apart.run(*queues.flat_map { |queue| queue.bells.values_at(:calls, :jobs).map { |key| ["LLEN", key] } })
      answers.each_slice(2).zip(queues) do |(calls, jobs), queue|
        yield queue, calls.positive?, jobs.positive? if [calls, jobs].all?(Integer)
      end
    end
  end
end
