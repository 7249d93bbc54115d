# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/in_memory"

# Where the cases of the contract of InMemory play: on the Redis in memory, whose clock is moved, and on a real one, where time goes by.
module Stages
  # What cases have in common.
  module Cases
    # How it fails, as far as a caller goes by it; or else what it returns.
    def failure
      yield
    rescue Pshub::HubError => e
      [e.code, e.ran]
    end

    # Begins it on a thread of its own, because time is made to pass before it is asked for.
    def begun(&work) = Thread.new { failure(&work) }

    # A task that notes what it is given.
    def noting(seen, name = "note:1.0", **options)
      declare(name, **options) do |args, ctx|
        seen << args
        { "attempt" => ctx.attempt }
      end
    end

    def teardown
      stage.finish
      super
    end
  end

  # In memory.
  class Memory
    attr_reader :kit

    def initialize
      @kit = Pshub::InMemory.new
      @hubs = []
    end

    def hub = Pshub::Hub.new(redis: @kit.redis.target).tap { |hub| @hubs << hub }

    # Starts one; what is returned kills it.
    def worker(*tasks, **options) = @kit.start_worker(*tasks, queue: "q", **options).method(:die)

    # Lets time go by.
    def pass(seconds) = @kit.clock.advance(seconds)
    def go_away = @kit.redis.go_away
    def come_back = @kit.redis.come_back

    def finish
      @hubs.each(&:close)
      @kit.close
    end
  end

  # Has a gate: what comes while it is shut is turned away.
  class GatedProxy < Support::Proxy
    def shut_gate(shut)
      @gate_shut = shut
      cut if shut
    end

    private

    def pass(source, target, answers) = @gate_shut ? [source, target].each(&:close) : super
  end

  # On a real one. Each has a namespace of its own: what a case leaves behind is none of the next one's business.
  class Real
    @count = 0
    class << self
      attr_accessor :count
    end

    def initialize(server)
      @server = server
      @namespace = "stage#{Real.count += 1}"
      @endings = []
      @shared = GatedProxy.new(server.port)
      @ways = [@shared]
      @proxies = [@shared]
    end

    def hub
      hub = Pshub::Hub.new(redis: @shared.url, namespace: @namespace)
      @endings << hub.method(:close)
      hub
    end

    def worker(*tasks, slots: 16, **options)
      own = GatedProxy.new(@server.port)
      @ways << own
      @proxies << own
      worker = Pshub::Worker.new(redis: own.url, tasks: tasks, queue: "q", slots: slots, job_slots: slots, namespace: @namespace, **options).start
      @endings << -> { worker.stop(grace: 0) }
      lambda do
        @ways.delete(own)
        own.shut_gate(true)
        burial = Thread.new { worker.stop(grace: 0) }
        @endings << burial.method(:join)
      end
    end

    def pass(seconds) = sleep(seconds)

    def go_away
      @ways.each { |way| way.shut_gate(true) }
      # Until that is known on this side.
      sleep 0.1
    end

    def come_back
      @ways.each { |way| way.shut_gate(false) }
      # The longest wait between two tries.
      sleep 1.1
    end

    def finish
      @ways.each { |way| way.shut_gate(false) }
      @endings.reverse_each(&:call)
      @proxies.each(&:close)
    end
  end
end
