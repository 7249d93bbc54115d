# frozen_string_literal: true

require "monitor"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "client"
require_relative "failures"
require_relative "fence"
require_relative "reach"
require_relative "refusals"

module Pshub
  # A connection to one server that heals itself: it owns a chain of links, one at a time. What was under way when one broke fails as
  # ConnectionLost, because only the layers above know what may be repeated. Used by several threads, one at a time.
  class NodeConnection
    # The server is a node of a Cluster; nothing was sent.
    class OfCluster < NotConnected; end

    # A firewall or NAT may forget a link that rests, and tells neither end. What rested is asked for a sign of life before it is trusted, and
    # gets this long for it: the caller still has time for another one.
    REST_S = 10.0
    PROBE_S = 0.25

    # Why there is no link at the moment, once an attempt failed.
    attr_reader :down_reason
    # How Redis calls the present link, for CLIENT UNBLOCK; nil where that was not asked or may not be.
    attr_reader :client_id
    # Since when there is no link.
    attr_reader :away_since

    # +role+ is told with events, +name+ is shown by CLIENT LIST. +alone+: a node of a Cluster is refused. +fence+: of the connections that
    # this one follows.
    def initialize(reach, role, name, stall_s, events, asks_id: false, alone: true, fence: Fence.new)
      @fence = fence
      @reach = reach
      @role = role
      @name = name
      @stall_s = stall_s
      @events = events
      @asks_id = asks_id
      @alone = alone
      @lock = Monitor.new
      # Tries in a row to make a link that failed, and when the next one may be made: whoever wants one, they share them.
      @failures = 0
      @opens_at = 0.0
      @closed = false
      @away_since = Clock.now
    end

    def ready? = !@link.nil? && !@closed
    def closed? = @closed
    # A part of an answer came a moment ago.
    def receiving? = @link&.receiving? == true

    # Returns true when there is a link, and false when +stop+ is set, this is closed, or the time (in seconds) is over. Raises
    # OfCluster.
    def wait_ready(stop, patience = Float::INFINITY)
      finish = Clock.now + patience
      until stop.set? || @closed
        return true if try_open
        return false if stop.wait([@opens_at - Clock.now, 0.01].max) || Clock.now > finish
      end
      false
    end

    # Sends commands in one write; returns one answer for each, ReplyErrors among them. The block is called when there is a live
    # link, right before they are written. +opens+: a link is made where there is none. Raises NotConnected or ConnectionLost.
    def run(commands, opens: true)
      @lock.synchronize do
        drop(@cut || "Redis closed the connection") if @link && (@cut || !@link.alive?)
        drop("Redis did not answer for #{PROBE_S} s") if @link && Clock.now - @used_at > REST_S && !@link.answers?(PROBE_S)
        opens ? open_link : linked
        yield if block_given?
        exchange(commands)
      end
    end

    # Makes a link, without holding up whoever wants to send meanwhile. True when there is one.
    def open_aside
      return true if ready?
      return false if rests?

      link, reason = opened
      @lock.synchronize { link ? use(link) : failed(reason) }
      true
    rescue NotConnected
      false
    end

    # Drops the present link: what is under way fails as ConnectionLost, and nothing more is sent there.
    def discard(reason)
      @cut = reason
      @link&.cut
      @opening&.kill
    end

    # Closes for good; a wait of another thread ends as ConnectionLost.
    def close
      @closed = true
      @link&.cut
      @opening&.kill
      @lock.synchronize do
        @link&.close
        @link = nil
        @reach.release(self)
      end
    end

    private

    def try_open
      @lock.synchronize { open_link }
      true
    rescue OfCluster
      raise
    rescue NotConnected
      false
    end

    def open_link
      raise NotConnected, "the connection was closed" if @closed
      return if @link
      raise NotConnected, @down_reason || "not connected to Redis yet" if rests?

      link, reason = opened
      link ? use(link) : failed(reason)
    end

    # The last try to make a link was a moment ago.
    def rests? = Clock.now < @opens_at

    def linked
      raise NotConnected, "the connection was closed" if @closed
      raise NotConnected, @down_reason || "not connected to Redis yet" unless @link
    end

    def use(link)
      if @closed
        link.close
        raise NotConnected, "the connection was closed"
      end
      if @alone && @of_cluster
        link.close
        @reach.release(self)
        raise OfCluster, "this is a node of a Cluster, and the others are not known yet"
      end
      @link = link
      @used_at = Clock.now
      @failures = 0
      @opens_at = 0.0
      @down_reason = nil
      @events.emit("redis:up", role: @role)
    end

    def failed(reason)
      @reach.release(self)
      @opens_at = Clock.now + Clock.backoff(@failures += 1)
      raise NotConnected, @closed ? "the connection was closed" : down(reason || @cut || "no answer within #{Reach::OPEN_S} s")
    end

    # A new link, or nil and why there is none, if that is known.
    def opened
      # One that could not be ended, because the system still looks for the server's name, is waited for first.
      unless @opening&.alive?
        @cut = nil
        @opening = Thread.new { make_link }
      end
      @opening.kill unless @opening.join(Reach::OPEN_S)
      @opening.join(0)&.value
    end

    def make_link
      Thread.current.report_on_exception = false
      options = @reach.options
      # From here on: one that is silent while it is greeted may not be the right one any more.
      @reach.hold(self)
      link = Link.new(options, @stall_s)
      greet(link)
      greeted = link
    rescue ReplyError, NotConnected, ConnectionLost => e
      [nil, Refusals.with_blanks_noted(Errors.message_of(e), options || {})]
    ensure
      # Also when this thread was ended.
      link&.close unless greeted
    end

    # All of it can be done without, where the user lacks the right.
    def greet(link)
      asked = [["CLIENT", "SETNAME", @name], %w[INFO persistence], %w[INFO server], %w[INFO replication]]
      *, own = link.run(@fence.commands)
      answers = link.run(@asks_id ? [*asked, %w[CLIENT ID]] : asked)
      @client_id = answers.last.is_a?(Integer) ? answers.last : nil
      refused = answers.find { |answer| answer.is_a?(ReplyError) && answer.code != "NOPERM" }
      raise refused if refused

      persistence, server, replication = answers[1..3].map { |answer| answer.is_a?(String) ? answer : "" }
      raise ReplyError, "LOADING Redis is loading its data" if persistence.include?("\nloading:1")

      @of_cluster = server.match?(/^(redis|server)_mode:cluster/)
      wrong = @reach.wrong(replication)
      raise ReplyError, wrong if wrong

      @fence.follow(own)
    end

    def exchange(commands)
      @used_at = Clock.now
      answers = @link.run(commands)
      wrong = answers.find { |answer| answer.is_a?(ReplyError) && answer.wrong_server? }
      drop(wrong.message) if wrong
      answers
    rescue ConnectionLost => e
      reason = @closed ? "the connection was closed" : (@cut || Errors.message_of(e))
      drop(reason)
      raise ConnectionLost, reason
    end

    def drop(reason)
      @link&.close
      @link = nil
      @reach.release(self)
      down(reason) unless @closed
    end

    def down(reason)
      # An outage that turns into a refusal, of a password that was changed for one, is told once more.
      news = @down_reason.nil? || (reason.match?(/\A[A-Z]{3,} /) && reason != @down_reason)
      @away_since = Clock.now unless @down_reason
      @events.emit("redis:down", role: @role, reason: reason) if news
      @down_reason = reason
    end
  end
end
