# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "cluster"
require_relative "failures"
require_relative "fence"
require_relative "node_connection"
require_relative "server_set"
require_relative "key_slots"

module Pshub
  # The way to Redis: to one server, as its sentinels name it where there are some, or to the nodes of a Cluster. That the server at its address
  # is a node of one is found out when it is there. #at gives the way to where a key lives: it is ready when that node is, and what has no key
  # goes there.
  class Connection
    # What a command may fail by; it is tried again later, or given up.
    PROBLEMS = [NotConnected, ConnectionLost, ReplyError].freeze
    # How long a wait for a server goes on before it is looked whether that turned out to be a node of a Cluster.
    LOOK_S = 1.0

    # The answers of commands that must all be taken; raises the first ReplyError among them.
    def self.checked(answers)
      refused = answers.find { |answer| answer.is_a?(ReplyError) }
      raise refused if refused

      answers
    end

    # What is behind a connection and all views of it.
    class Ways
      def initialize(owner, role, servers, stall_s, events, asks_id, per_slot)
        @servers = servers
        @topology = servers.topology
        @per_slot = per_slot
        @lock = Mutex.new
        # They outlive the connections to a node: the next one to the same node follows them.
        fences = Hash.new { |known, address| known[address] = Fence.new }
        @make = lambda do |reach, address = nil|
          shown = [owner, role, address].compact.join(" ")
          NodeConnection.new(reach, shown, "pshub-#{owner}-#{role}", stall_s, events, asks_id: asks_id, alone: address.nil? && @topology,
                                                                                   fence: per_slot ? Fence.new : fences[address])
        end
        @on_unknown = ->(reason) { events.emit("redis:down", role: "#{owner} #{role}", reason: reason) if @told != (@told = reason) }
        @home = @make.call(servers.reach) if servers.reach
      end

      attr_reader :servers

      # The one server, as long as it is that.
      def home = cluster? ? nil : @home
      def cluster? = @servers.cluster?

      # The nodes; of a server that turned out to be one of them, too.
      def cluster
        @cluster || @lock.synchronize do
          raise NotConnected, "the connection was closed" if @closed

          @topology.become_cluster
          home, @home = @home, nil
          Thread.new { home.close } if home
          @cluster = Cluster.new(@topology, @per_slot, @on_unknown) { |address| @make.call(NodeReach.new(@topology, address), address) }
        end
      end

      def close
        home, cluster = @lock.synchronize do
          @closed = true
          [@home, @cluster]
        end
        [home, cluster].compact.each(&:close)
      end
    end

    # +target+: as ServerSet.of takes it. +per_slot+: for what waits in Redis; on a Cluster there is one link for each slot then.
    def initialize(owner, role, target, stall_s, events, asks_id: false, per_slot: false)
      @owner = owner
      @events = events
      @ways = Ways.new(owner, role, ServerSet.of(target), stall_s, events, asks_id, per_slot)
      @patience = Cluster::PATIENCE_S
    end

    # Another one to the same servers, for what waits in Redis.
    def beside(role, stall_s, asks_id: false)
      Connection.new(@owner, role, @ways.servers, stall_s, @events, asks_id: asks_id, per_slot: true)
    end

    # The way to where a key lives: of a Cluster the one node, whatever the others do.
    def at(key) = standing(KeySlots.of(key))

    # The same way, where nothing waits for a node of a Cluster that is away.
    def without_waiting = dup.tap { |view| view.patience = 0.0 }

    # The same way; of several nodes of a Cluster each does what it can: in the place of an answer that does not come is why.
    def apart = dup.tap { |view| view.apart = true }

    # The way to where a command goes.
    def of(command) = (key = KeySlots.key_of(command)) ? at(key) : self

    # What tells servers apart.
    def server = @place.is_a?(Integer) && spread? ? @ways.servers.topology.owner_of(@place) : @place.class

    # Of a Cluster each master with its name, else what there is.
    def each_master
      return [["", self]] unless spread?

      @ways.servers.topology.masters.map { |address| [address.to_s, standing(address)] }
    end

    # There are several servers, of which one can be away without the others.
    def spread? = @ways.cluster?

    def ready? = (home = @ways.home) ? home.ready? : @ways.cluster.ready?(@place)
    # Why there is no link at the moment, once an attempt failed.
    def down_reason = (home = @ways.home) ? home.down_reason : @ways.cluster.down_reason(@place)
    # A part of an answer came a moment ago.
    def receiving? = (home = @ways.home) ? home.receiving? : @ways.cluster.receiving?(@place)
    # How Redis calls the present link, for CLIENT UNBLOCK; nil where that was not asked or may not be.
    def client_id = (home = @ways.home) ? home.client_id : @ways.cluster.client_id(@place)

    # Returns true when there is a link, and false when +stop+ is set, this is closed, or the time (in seconds) is over.
    def wait_ready(stop, patience = Float::INFINITY)
      finish = Clock.now + patience
      while (home = @ways.home)
        left = finish - Clock.now
        begin
          return true if home.wait_ready(stop, [left, LOOK_S].min)
        rescue NodeConnection::OfCluster
          break
        end
        return false if @ways.home && (stop.set? || home.closed? || left <= LOOK_S)
      end
      @ways.cluster.wait_ready(@place, stop, finish - Clock.now)
    rescue NotConnected
      false
    end

    # Sends commands in one write, to each node those of its keys; returns one answer for each, ReplyErrors among them. The block is called
    # when there is a live link, right before they are written. Raises NotConnected or ConnectionLost.
    def run(*commands, &block)
      answers = run_at_home(commands, &block) or return run_on_cluster(commands, &block)
      moved = @ways.servers.topology ? answers.each_index.select { |at| moved?(answers[at]) } : []
      run_on_cluster(commands.values_at(*moved)).zip(moved) { |answer, at| answers[at] = answer } if moved.any?
      answers
    end

    # The answer of one command; raises its ReplyError.
    def one(*words) = Connection.checked(run(words)).first

    # Redis' own time, in milliseconds.
    def now_ms
      seconds, micros = one("TIME").map(&:to_i)
      (seconds * 1000) + (micros / 1000)
    end

    # Closes for good; a wait of another thread ends as ConnectionLost.
    def close = @ways.close

    protected

    attr_writer :place, :patience, :apart

    private

    # nil where there are nodes in its place.
    def run_at_home(commands, &block)
      @ways.home&.run(commands, &block)
    rescue NotConnected => e
      raise if @ways.home && !e.is_a?(NodeConnection::OfCluster)
    end

    def standing(place) = dup.tap { |view| view.place = place }
    def moved?(answer) = answer.is_a?(ReplyError) && %w[MOVED ASK].include?(answer.code)
    def run_on_cluster(commands, &block) = @ways.cluster.run(commands, @place, patience: @patience, apart: @apart, &block)
  end
end
