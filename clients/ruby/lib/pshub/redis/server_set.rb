# frozen_string_literal: true

require_relative "reach"
require_relative "sentinels"
require_relative "target"
require_relative "topology"

module Pshub
  # The servers of one hub or worker, which its connections share: they hear of a failover at the same moment.
  class ServerSet
    # +target+: as users name it, or Sentinels, or what this made of it.
    def self.of(target) = target.is_a?(ServerSet) ? target : new(target)

    # nil where there are sentinels.
    attr_reader :topology

    def initialize(target)
      @sentinels = target if target.is_a?(Sentinels)
      @place = @sentinels ? @sentinels.servers : Target.read(target)
      if @place.kind == :sentinel
        @sentinels ||= Sentinels.new(@place)
      else
        cluster = @place.kind == :cluster
        @topology = Topology.new(cluster ? @place.addresses : [nil], @place.options, cluster)
      end
    end

    # The way of one connection to the server that was named, or to the master that sentinels name; nil where nodes were.
    def reach
      return MasterReach.new(@sentinels) if @sentinels

      Reach.new(@place.options) unless @place.kind == :cluster
    end

    def cluster? = !@topology.nil? && @topology.cluster?
  end

  # The way to a node of a Cluster.
  class NodeReach < Reach
    def initialize(topology, address)
      super(nil, address)
      @topology = topology
    end

    def options = @topology.options_at(@address)
  end
end
