# frozen_string_literal: true

require_relative "failures"
require_relative "library"
require_relative "refusals"
require_relative "rights_check"

module Pshub
  # Whether this Redis can keep what pshub promises.
  module BootCheck
    module_function

    # What is said of a server that is unfit for these reasons.
    def refusal(reasons) = "This Redis cannot be used: #{reasons.join('; ')}."

    # What makes this server unfit for a worker of these queues, one sentence each; of a Cluster all its masters. What one does not tell is no
    # reason, and one that is away only counts where the first one is.
    def unfit(connection, keys, queues)
      reasons = unfit_here(connection, keys, queues)
      return reasons unless connection.spread?

      others = connection.each_master.flat_map do |name, master|
        (unfit_here(master, keys, queues) - reasons).map { |reason| "node #{name}: #{reason}" }
      rescue NotConnected, ConnectionLost
        []
      end
      reasons + others
    end

    def unfit_here(connection, keys, queues)
      told = info(connection)
      # Nothing more is asked of a replica: it would refuse to load the library, which ends the connection.
      return server_reasons(told) if told.fetch("role", "master") != "master"

      rights = queues.map { |queue| rights_reason(connection, keys, queue) }
      [*server_reasons(told), library_reason(connection), *rights].compact
    end

    # Loads the library where it is missing and this user may.
    def library_reason(connection)
      installed = Library.install(connection)
      return if installed.fit?

      revision, refusal = installed.to_a
      present = revision ? "has revision #{revision}, and #{LIBRARY_REVISION} is needed" : "is missing"
      why = refusal && ", and it cannot be loaded: #{Refusals.explained(refusal)}"
      "pshub's library #{present}#{why}. Load it with: pshub install"
    rescue ReplyError
      # Who may not run it is told so with its rights, and an old server by its version.
      nil
    end

    def rights_reason(connection, keys, queue)
      lacks = RightsCheck.missing(connection, :worker, keys, queue)
      "this user may not serve a queue: it lacks #{lacks}. See 'pshub check --for worker'" if lacks
    rescue ReplyError
      nil
    end

    def info(connection)
      text = connection.one("INFO")
      text.lines.filter_map { |line| line.chomp.split(":", 2) if line.include?(":") && !line.start_with?("#") }.to_h
    rescue ReplyError
      {}
    end

    def server_reasons(info)
      version, role, policy = info.fetch("redis_version", "7"), info.fetch("role", "master"), info["maxmemory_policy"]
      reasons = []
      if !info.key?("valkey_version") && version.to_i < 7
        reasons << "Redis #{version} is too old; 7.0 or newer is required"
      end
      reasons << "this server is a #{role}, which refuses writes; connect to its master" if role != "master"
      if policy && policy != "noeviction"
        reasons << "maxmemory-policy is #{policy}: a full server would silently drop requests. " \
                   "Set it with: redis-cli config set maxmemory-policy noeviction"
      end
      reasons
    end
  end
end
