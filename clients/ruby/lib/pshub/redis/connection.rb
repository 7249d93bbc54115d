# frozen_string_literal: true

require "monitor"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "client"

module Pshub
  # The command was never written: certainly not run.
  class NotConnected < StandardError; end

  # The connection broke or stalled with the command under way: it may have run.
  class ConnectionLost < StandardError; end

  # Redis' own error answer, its first word included; the command was not run.
  class ReplyError < StandardError
    PASSING = %w[
      LOADING BUSY READONLY UNBLOCKED MASTERDOWN CLUSTERDOWN TRYAGAIN NOREPLICAS NOAUTH WRONGPASS
    ].freeze
    WRONG_SERVER = %w[READONLY UNBLOCKED NOAUTH WRONGPASS].freeze

    def code = message[/\A\S+/].to_s
    # An answer that may be different a moment later.
    def passing? = PASSING.include?(code)
    def full? = %w[OOM MISCONF].include?(code)
    # Nothing was run.
    def no_function? = message.start_with?("ERR Function not found")
    def wrong_server? = WRONG_SERVER.include?(code)
  end

  # A connection that heals itself: it owns a chain of links, one at a time. What was under way when one broke fails as
  # ConnectionLost, because only the layers above know what may be repeated. Used by several threads, one at a time.
  class Connection
    # What a command may fail by; it is tried again later, or given up.
    PROBLEMS = [NotConnected, ConnectionLost, ReplyError].freeze
    # How long a new link gets, all together: until its server's name is resolved, it is encrypted, let in and greeted. Each of these
    # may wait for an answer that never comes, or that comes byte by byte.
    OPEN_S = 3.0

    # The answers of commands that must all be taken; raises the first ReplyError among them.
    def self.checked(answers)
      refused = answers.find { |answer| answer.is_a?(ReplyError) }
      raise refused if refused

      answers
    end

    # Why there is no link at the moment, once an attempt failed.
    attr_reader :down_reason
    # How Redis calls the present link, for CLIENT UNBLOCK; nil where that was not asked or may not be.
    attr_reader :client_id

    def initialize(owner, role, target, stall_s, events, asks_id: false)
      @role = "#{owner} #{role}"
      @name = "pshub-#{owner}-#{role}"
      @target = target
      @stall_s = stall_s
      @events = events
      @asks_id = asks_id
      @lock = Monitor.new
      @attempt = 0
      @closed = false
    end

    def ready? = !@link.nil? && !@closed

    # Returns true when there is a link, and false when +stop+ is set, this is closed, or the time (in seconds) is over.
    def wait_ready(stop, patience = Float::INFINITY)
      attempt = 0
      finish = Clock.now + patience
      until stop.set? || @closed
        return true if try_open
        return false if stop.wait(Clock.backoff(attempt += 1)) || Clock.now > finish
      end
      false
    end

    # Sends commands in one write; returns one answer for each, ReplyErrors among them. The block is called when there is a live
    # link, right before they are written. Raises NotConnected or ConnectionLost.
    def run(*commands)
      @lock.synchronize do
        drop("Redis closed the connection") if @link && !@link.alive?
        open_link
        yield if block_given?
        exchange(commands)
      end
    end

    # The answer of one command; raises its ReplyError.
    def one(*words) = Connection.checked(run(words)).first

    # Redis' own time, in milliseconds.
    def now_ms
      seconds, micros = one("TIME").map(&:to_i)
      (seconds * 1000) + (micros / 1000)
    end

    # Closes for good; a wait of another thread ends as ConnectionLost.
    def close
      @closed = true
      @link&.cut
      @opening&.kill
      @lock.synchronize do
        @link&.close
        @link = nil
      end
    end

    private

    def try_open
      @lock.synchronize { open_link }
      true
    rescue NotConnected
      false
    end

    def open_link
      raise NotConnected, "the connection was closed" if @closed
      return if @link

      link, reason = opened
      unless link
        raise NotConnected, @closed ? "the connection was closed" : down(reason || "no answer within #{OPEN_S} s")
      end
      @link = link
      @down_reason = nil
      @events.emit("redis:up", role: @role)
    end

    # A new link, or nil and why there is none, if that is known.
    def opened
      # One that could not be ended, because the system still looks for the server's name, is waited for first.
      @opening = Thread.new { make_link } unless @opening&.alive?
      @opening.kill unless @opening.join(OPEN_S)
      @opening.join(0)&.value
    end

    def make_link
      Thread.current.report_on_exception = false
      link = Link.new(@target, @name, @stall_s)
      greet(link)
      greeted = link
    rescue Link::COMMAND_ERROR, ReplyError, *Link::FAILURES => e
      [nil, Errors.message_of(e)]
    ensure
      # Also when this thread was ended.
      link&.close unless greeted
    end

    # All of it can be done without, where the user lacks the right.
    def greet(link)
      answers = link.run([["CLIENT", "SETNAME", @name], %w[INFO persistence], *(@asks_id ? [%w[CLIENT ID]] : [])])
      @client_id = answers.last.is_a?(Integer) ? answers.last : nil
      answers.each do |answer|
        raise ReplyError, answer.message if answer.is_a?(StandardError) && !answer.message.start_with?("NOPERM")
        raise ReplyError, "LOADING Redis is loading its data" if answer.is_a?(String) && answer.include?("\nloading:1")
      end
    end

    def exchange(commands)
      answers = @link.run(commands).map { |answer| answer.is_a?(StandardError) ? ReplyError.new(answer.message) : answer }
      wrong = answers.find { |answer| answer.is_a?(ReplyError) && answer.wrong_server? }
      drop(wrong.message) if wrong
      answers
    rescue *Link::FAILURES => e
      reason = @closed ? "the connection was closed" : Errors.message_of(e)
      drop(reason)
      raise ConnectionLost, reason
    end

    def drop(reason)
      @link&.close
      @link = nil
      down(reason) unless @closed
    end

    def down(reason)
      # An outage that turns into a refusal, of a password that was changed for one, is told once more.
      news = @down_reason.nil? || (reason.match?(/\A[A-Z]{3,} /) && reason != @down_reason)
      @events.emit("redis:down", role: @role, reason: reason) if news
      @down_reason = reason
    end
  end
end
