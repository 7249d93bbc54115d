# frozen_string_literal: true

module Pshub
  # Fences the predecessor of a connection. Bytes of a connection that was given up may still be on their way, and Redis would obey them when
  # they arrive: a second hand-back lets a call run twice, a second settle ends the next run of a job. So a new connection has the server close
  # the previous one, and nothing else is sent before that is confirmed. One fence belongs to one server and one role, and outlives its
  # connections. Without the right to use CLIENT KILL or CLIENT INFO there is none.
  class Fence
    # To be sent first on a new connection; what Redis answers to the last one is for #follow.
    def commands = [@predecessor, %w[CLIENT INFO]].compact

    # This connection is ready, and is the next one's predecessor.
    def follow(info)
      found = /\Aid=(\d+) addr=(\S+) /.match(info) if info.is_a?(String)
      # Ids begin anew when a server restarts, and so the address is compared too.
      @predecessor = found && ["CLIENT", "KILL", "ID", found[1], "ADDR", found[2]]
    end
  end
end
