# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/stop"
require_relative "addresses"
require_relative "client"
require_relative "failures"
require_relative "reach"
require_relative "target"

module Pshub
  # The sentinels of a master: who it is, and that it is another one from now on. Shared by the connections of a hub or a worker. While
  # one of these is there, each sentinel is asked again and again, on a thread of its own: a master that was cut off from them may not
  # know for long that it is none any more, and would confirm what is lost when it hears of that.
  class Sentinels
    # One that says nothing for so long is passed over.
    ASK_S = 1.0
    EVERY_S = 0.2
    # Others hear of a failover within two seconds of the one that made it; until then they tell of the old master.
    NEWS_S = 5.0

    News = Struct.new(:address, :at)

    # +servers+ as Target.read has them.
    def initialize(servers)
      @servers = servers
      @lock = Mutex.new
      @turn = 0
      # What each sentinel said last.
      @said = {}
      # NodeConnections, and which master they have.
      @held = {}.compare_by_identity
    end

    attr_reader :servers

    # Its Address. Raises NotConnected when none of them knows.
    def master
      news, turn = @lock.synchronize { [@news, @turn += 1] }
      return news.address if news && Clock.now - news.at < NEWS_S

      # Another one first each time: one that is deaf must not take up each attempt's time.
      setbacks = @servers.addresses.rotate(turn).map do |sentinel|
        return asked(sentinel)
      rescue ReplyError, NotConnected, ConnectionLost => e
        "#{sentinel}: #{Errors.message_of(e)}"
      end
      raise NotConnected, "no sentinel knows the address of the master '#{@servers.name}' (#{setbacks.join('; ')})"
    end

    # A NodeConnection goes there; it is told to drop its link when sentinels tell of another master.
    def hold(node, address)
      @lock.synchronize do
        @held[node] = address
        @watch ||= start_watch
      end
    end

    def release(node)
      @lock.synchronize do
        @held.delete(node)
        next unless @held.empty? && @watch

        @watch.set
        @watch = nil
        @said = {}
      end
    end

    # What was named as the master is none.
    def disown(address)
      @lock.synchronize { @news = nil if @news&.address == address }
    end

    private

    def asked(sentinel)
      link = open(sentinel)
      begin
        ask(link)
      ensure
        link.close
      end
    end

    def open(sentinel)
      options = Target.with_password(Target.at(@servers.sentinel_options, sentinel))
      Link.new(options, ASK_S, connect_s: ASK_S)
    end

    def ask(link)
      answer = link.run([["SENTINEL", "get-master-addr-by-name", @servers.name]]).first
      raise answer if answer.is_a?(ReplyError)
      raise NotConnected, "it knows no master '#{@servers.name}'" unless answer.is_a?(Array) && answer.size == 2

      Address.new(answer.first, answer.last.to_i)
    end

    def start_watch
      stop = Stop.new
      @servers.addresses.each { |sentinel| Thread.new { watch(sentinel, stop) } }
      stop
    end

    def watch(sentinel, stop)
      link = nil
      until stop.set?
        begin
          link ||= open(sentinel)
          hear(sentinel, ask(link), stop)
        rescue ReplyError, NotConnected, ConnectionLost
          # Others are there; and where none is, whoever connects says so.
          @lock.synchronize { @said.delete(sentinel) }
          link&.close
          link = nil
          stop.wait(ASK_S)
        end
        stop.wait(EVERY_S)
      end
      link&.close
    end

    # One that says something else than before has heard of a failover. What it said at first counts when most of them say so: one that
    # was cut off tells of an old master, and a connection must not go to and fro between them.
    def hear(sentinel, address, stop)
      dropped = @lock.synchronize do
        next [] if stop.set?

        before, @said[sentinel] = @said[sentinel], address
        switched = before && before != address
        @news = News.new(address, Clock.now) if switched
        most = @said.values.count(address) * 2 > @servers.addresses.size
        switched || most ? @held.reject { |_, held| held == address }.keys : []
      end
      dropped.each { |node| node.discard("the sentinels report the master at #{address}") }
    end
  end

  # The way to the master that sentinels name; one for each connection.
  class MasterReach < Reach
    def initialize(sentinels)
      super(sentinels.servers.options)
      @sentinels = sentinels
    end

    def options
      @master = @sentinels.master
      Target.with_password(Target.at(@options, @master))
    end

    def hold(node) = @sentinels.hold(node, @master)
    def release(node) = @sentinels.release(node)

    def wrong(info)
      role = info[/^role:(\w+)/, 1]
      return if role.nil? || role == "master"

      @sentinels.disown(@master)
      "READONLY what the sentinels name as the master, #{@master}, is a #{role}"
    end
  end
end
