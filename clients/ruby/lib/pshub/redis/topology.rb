# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/stop"
require_relative "addresses"
require_relative "client"
require_relative "failures"
require_relative "key_slots"
require_relative "target"

module Pshub
  # Which node of a Cluster serves which slot, as far as is known. Shared by the connections of a hub or a worker. While one of these is on a
  # Cluster it is read on a thread of its own, over links of its own: those that carry commands may be waiting, or lead to a node that is gone.
  class Topology
    # A node that says nothing for so long is passed over.
    ASK_S = 1.0
    # It is read so often while a node is away, and at most so often.
    AGAIN_S = 0.25
    LEAST_S = 0.1

    # Addresses of all masters that serve slots, in an order that slots which move do not change.
    attr_reader :masters
    # Why nothing is known.
    attr_reader :reason

    # +seeds+: Addresses to begin with, nil for the one that is in the options, which are the gem's. +cluster+: it is known from the start to
    # be one, and not found out from the first server.
    def initialize(seeds, options, cluster)
      @seeds = seeds
      @options = options
      @cluster = cluster
      @owners = []
      @masters = []
      @others = []
      @users = {}.compare_by_identity
      @lock = Mutex.new
      @changed = Clock.condition
      @wanted = false
      @turn = 0
    end

    def cluster? = @cluster
    def known? = @masters.any?
    def owner_of(slot) = @owners[slot]
    # The gem's options of a link to a node.
    def options_at(address) = Target.with_password(Target.at(@options, address))

    # What was taken for a server of its own is a node.
    def become_cluster = @cluster = true

    # From now on +user+ is told of each change (#topology_changed), and asked whether it #lacks_one.
    def join(user)
      @lock.synchronize do
        @users[user] = true
        @reading ||= start
      end
    end

    def leave(user)
      @lock.synchronize do
        @users.delete(user)
        next unless @users.empty? && @reading

        @reading.set
        @reading = nil
        @changed.broadcast
      end
    end

    # A node said that this slot is another one's now. What else has changed the next reading tells.
    def moved(slot, owner)
      news = @lock.synchronize do
        next if @owners[slot] == owner

        @owners = @owners.dup.tap { |owners| owners[slot] = owner }
        @masters = [*@masters, owner].sort_by(&:to_s) unless @masters.include?(owner)
        true
      end
      tell if news
      want_reading
    end

    # Something does not fit what is known.
    def want_reading
      @lock.synchronize do
        @wanted = true
        @changed.broadcast
      end
    end

    private

    def start = Stop.new.tap { |stop| Thread.new { serve(stop) } }

    def serve(stop)
      until stop.set?
        begun = Clock.now
        @wanted = false
        read(stop)
        lacks = !known? || users.any?(&:lacks_one?)
        @lock.synchronize { @changed.wait(@lock, lacks ? AGAIN_S : nil) unless @wanted || stop.set? }
        stop.wait([LEAST_S - (Clock.now - begun), 0].max)
      end
    end

    # Another one first each time: what the first one says may be of yesterday.
    def read(stop)
      known = [*@masters, *@others, *@seeds].uniq
      setbacks = []
      known.rotate(@turn += 1).each do |address|
        return nil if stop.set?

        return learn(ask(address), address || Target.address_in(@options))
      rescue ReplyError, NotConnected, ConnectionLost => e
        setbacks << ["#{Errors.message_of(e)} (#{address || Target.describe(@options)})", e.is_a?(ReplyError)]
      end
      return if known?

      # A refusal as it is: by how it begins people are told what to do about it.
      refusal, = setbacks.find(&:last)
      @reason = refusal || "no node reports its slots: #{setbacks.map(&:first).join('; ')}"
      tell
    end

    def ask(address)
      link = Link.new(options_at(address), ASK_S, connect_s: ASK_S)
      begin
        answer = link.run([%w[CLUSTER SLOTS]]).first
        raise answer if answer.is_a?(ReplyError)
        raise NotConnected, "it belongs to no Cluster with slots" if answer.empty?

        answer
      ensure
        link.close
      end
    end

    # +asked+: whose answer it is, and whose host stands where none is named.
    def learn(ranges, asked)
      owners = Array.new(KeySlots::COUNT)
      others = []
      ranges.each do |first, last, *nodes|
        master, *replicas = nodes.map { |host, port, _, further| Address.new(host_of(host, further) || asked.host, port) }
        owners.fill(master, first..last)
        others.concat(replicas)
      end
      @lock.synchronize do
        @owners = owners
        @masters = owners.uniq.compact.sort_by(&:to_s)
        @others = others.uniq
        @reason = nil
      end
      tell
    end

    # nil: the host that was asked. A node that is to be named and has no name is a ?, with its address behind that.
    def host_of(host, further)
      return (host unless host.to_s.empty?) unless host == "?"

      further.each_slice(2).to_h["ip"] if further.is_a?(Array)
    end

    def users = @lock.synchronize { @users.keys }
    def tell = users.each(&:topology_changed)
  end
end
