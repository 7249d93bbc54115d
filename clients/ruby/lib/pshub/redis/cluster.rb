# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/stop"
require_relative "addresses"
require_relative "failures"
require_relative "key_slots"

module Pshub
  # The nodes of a Cluster, each over a NodeConnection of its own, opened when it is first used. Each command goes to the master of its key's
  # slot: where it is not run because the slot has another one, it is sent there; nothing that may have been run is sent again.
  class Cluster
    # For so long a command waits for a node that is away, or not known. Nothing is said of one to which the first connection is still
    # being made.
    PATIENCE_S = 1.0
    # A connection to a node that serves nothing any more, as one reading says, ends so much later: the next one may know better.
    LINGER_S = 1.0
    # So often in a row a command is sent elsewhere.
    MAX_HOPS = 5
    LOOK_S = 0.02

    # A NodeConnection; +slot+: the one that it is for, nil for all of the node.
    Member = Struct.new(:node, :address, :slot, :opener)
    # Where a redirected command goes, for a slot that may be another one's.
    Elsewhere = Struct.new(:slot, :address)

    # The block makes a NodeConnection to an Address. +per_slot+: there is one for each slot that is used, and not for each node: Redis refuses
    # to wait for keys of different slots at once, and one behind the other would wait for each other's.
    def initialize(topology, per_slot, on_unknown, &make)
      @topology = topology
      @per_slot = per_slot
      @on_unknown = on_unknown
      @make = make
      @lock = Mutex.new
      @members = {}
      @closing = Stop.new
      # How many wait for a slot that nobody is known to serve.
      @unserved = 0
      topology.join(self)
    end

    # A node that is used is away, or nobody serves a slot that is waited for.
    def lacks_one?
      @lock.synchronize { @unserved.positive? || @members.each_value.any? { |each| !each.node.ready? && each.node.down_reason } }
    end

    # A place is a slot, an Address, or nil for whichever node.
    def ready?(place) = place.nil? ? @topology.known? : node_ready?(member(place))
    def client_id(place) = member(place)&.node&.client_id
    def receiving?(place) = member(place)&.node&.receiving? == true

    # Why there is no connection at the moment, once an attempt failed.
    def down_reason(place)
      return @topology.reason unless @topology.known?
      return if place.nil?

      found = member(place) or return "no node of the Cluster serves slot #{place}"
      reason = found.node.down_reason
      reason && "#{reason} (#{found.address})"
    end

    def wait_ready(place, stop, patience)
      finish = Clock.now + patience
      until stop.set? || @closing.set? || Clock.now > finish
        return true if ready?(place)

        unserved(place) { stop.wait(LOOK_S) }
      end
      false
    end

    # As Connection#run, for a +place+ that counts where a command has no key. +apart+: in the place of what a node did not answer is
    # why, where else that is raised.
    def run(commands, place, patience: PATIENCE_S, apart: false, &block)
      parts = commands.each_index.group_by { |at| spot_of(commands[at], place) }
      return run_part(parts.keys.first, commands, patience, &block) if parts.size == 1 && !apart

      block&.call
      outcomes = side_by_side(parts) { |spot, places| run_part(spot, commands.values_at(*places), patience) }
      failed = outcomes.find { |_, outcome| outcome.is_a?(StandardError) }
      raise failed.last if failed && !apart

      answers = Array.new(commands.size)
      outcomes.each { |places, outcome| places.each_with_index { |at, n| answers[at] = outcome.is_a?(Array) ? outcome[n] : outcome } }
      answers
    end

    # What runs elsewhere is known now, or that nobody knows.
    def topology_changed
      return @on_unknown.call(@topology.reason) unless @topology.known?

      gone = @lock.synchronize { @members.reject { |_, each| needed?(each) } }
      gone.each { |name, each| Thread.new { retire(name, each) } }
    end

    def close
      @closing.set
      @topology.leave(self)
      @lock.synchronize { @members.values }.each { |each| each.node.close }
    end

    private

    # What goes in one write: what is for the same node, or for the same slot where each has a connection of its own.
    def spot_of(command, place)
      key = KeySlots.key_of(command)
      return place if key.nil? || place.is_a?(Address)

      slot = KeySlots.of(key)
      @per_slot ? slot : @topology.owner_of(slot) || slot
    end

    # Each on a thread of its own: one node that says nothing holds up no other. As pairs of places and outcome.
    def side_by_side(parts)
      tried = lambda do |spot, places|
        yield spot, places
      rescue StandardError => e
        e
      end
      return parts.map { |spot, places| [places, tried.call(spot, places)] } if parts.size == 1

      running = parts.map { |spot, places| [places, Thread.new { tried.call(spot, places) }] }
      running.map { |places, thread| [places, thread.value] }
    end

    def run_part(spot, commands, patience, &block)
      asked, answers = send_to(spot, commands.map { |each| KeySlots.with_absent(each) }, patience, &block)
      MAX_HOPS.times do
        look_at(commands, answers)
        redirect, places = redirected(commands, answers, asked)
        break unless redirect

        @topology.moved(redirect.slot, redirect.address) unless redirect.once
        begin
          asked = follow(redirect, commands, answers, places)
        rescue NotConnected => e
          # What of it was run before cannot be taken back.
          raise answers.all?(ReplyError) ? e : ConnectionLost.new(e.message)
        end
      end
      answers
    end

    # By who is cut off from the others, or for a moment by all. A function is not sent after a slot that is on its way: it is run when all
    # of its keys are there.
    def look_at(commands, answers)
      @topology.want_reading if answers.any? { |each| each.is_a?(ReplyError) && each.code == "CLUSTERDOWN" }
      answers.each_index do |at|
        next unless KeySlots.function?(commands[at]) && answers[at].is_a?(ReplyError) && answers[at].code == "ASK"

        answers[at] = ReplyError.new("TRYAGAIN The slot is moving to another node")
      end
    end

    # The first redirect, and what is to be sent after it: all that is sent to the same place, with what has no key behind it. Where a function
    # of them is to be tried again, all is.
    def redirected(commands, answers, asked)
      found = answers.map { |each| Redirect.of(each, asked) }
      first = found.compact.first or return
      return if first.once && answers.any? { |each| each.is_a?(ReplyError) && each.code == "TRYAGAIN" }

      from = found.index(first)
      [first, (from...answers.size).select { |at| found[at] == first || KeySlots.key_of(commands[at]).nil? }]
    end

    def follow(redirect, commands, answers, places)
      again = commands.values_at(*places).map { |each| KeySlots.with_absent(each) }
      again = again.flat_map { |each| [["ASKING"], each] } if redirect.once
      asked, got = send_to(Elsewhere.new(redirect.slot, redirect.address), again, PATIENCE_S)
      got = got.each_slice(2).map(&:last) if redirect.once
      places.zip(got) { |at, answer| answers[at] = answer }
      asked
    end

    # Waits for the connection and sends. Returns who was asked, and what it answered.
    def send_to(place, commands, patience, &block)
      finish = Clock.now + patience
      begin
        found = ready_member(place, finish)
        [found.address, found.node.run(commands, opens: false, &block)]
      rescue NotConnected
        @topology.want_reading
        raise if @closing.set? || Clock.now >= finish

        retry
      end
    end

    def ready_member(place, finish)
      until @closing.set?
        found = member(place)
        return found if node_ready?(found)
        break unless on_its_way?(found) || Clock.now < finish

        unserved(place) { @closing.wait(LOOK_S) }
      end
      raise NotConnected, @closing.set? ? "the connection was closed" : down_reason_of(found, place)
    end

    def down_reason_of(found, place)
      return "#{found.node.down_reason || 'not connected to its node yet'} (#{found.address})" if found

      down_reason(place) || "not connected to Redis yet"
    end

    # Nothing is known of it yet, and soon will be.
    def on_its_way?(found) = found ? found.node.down_reason.nil? : !@topology.known? && @topology.reason.nil?
    def node_ready?(found) = !found.nil? && found.node.ready?

    # While somebody waits for a slot without a node, it is looked who serves it.
    def unserved(place)
      return yield unless place.is_a?(Integer) && @topology.known? && @topology.owner_of(place).nil?

      @lock.synchronize { @unserved += 1 }
      @topology.want_reading
      begin
        yield
      ensure
        @lock.synchronize { @unserved -= 1 }
      end
    end

    # The connection, which is opened by that; nil when nobody is known to serve that slot.
    def member(place)
      address, slot = address_of(place), slot_of(place)
      return if address.nil? || @closing.set?

      @lock.synchronize do
        found = @members[[address, slot]] ||= Member.new(@make.call(address), address, slot)
        found.opener = Thread.new { open(found) } unless found.node.ready? || found.opener&.alive?
        found
      end
    end

    def slot_of(place)
      return unless @per_slot

      place.is_a?(Elsewhere) ? place.slot : (place if place.is_a?(Integer))
    end

    def address_of(place)
      case place
      when Integer then @topology.owner_of(place)
      when Address then place
      when Elsewhere then place.address
      else
        # Whoever is there: the first one may be away.
        ready = @lock.synchronize { @members.each_value.find { |each| each.node.ready? } }
        ready ? ready.address : @topology.masters.first
      end
    end

    def open(found)
      tries = 0
      until found.node.closed? || found.node.open_aside
        @topology.want_reading
        @closing.wait(Clock.backoff(tries += 1))
      end
    end

    def needed?(found)
      return @topology.masters.include?(found.address) if found.slot.nil?

      @topology.owner_of(found.slot) == found.address
    end

    # What waits at the old node of a slot is told nothing by who says nothing, and loses nothing.
    def retire(name, found)
      @closing.wait(LINGER_S) if found.slot.nil? && found.node.ready?
      leaves = @lock.synchronize { !needed?(found) && @members[name].equal?(found) && @members.delete(name) }
      found.node.close if leaves
    end
  end
end
