# frozen_string_literal: true

require_relative "helper"

# The queue "default", spread over shards as pshub shards does it.
module Sharded
  KEYS = Pshub::Keys.new("pshub")
  NAMES = %w[default shard.2.default shard.3.default].freeze

  def setup
    super
    @lock = Mutex.new
    @running = @most = 0
    @going_on = Pshub::Stop.new
  end

  def spread(epoch, names, coming: false, earlier: nil)
    record = Pshub::Shards.new(epoch, names, coming, earlier)
    record.served.each { |name| record.note(link, KEYS, name) }
  end

  def link(url = server.url)
    @link ||= ending(Pshub::Connection.new("test", "commands", url, 2.0, Pshub::Events.new).tap { |made| made.wait_ready(Pshub::Stop.new) }, :close)
  end

  # Where there are live workers.
  def places = server.client.hvals("pshub:workers").map { |card| JSON.parse(card)["queue"] }.sort

  def serve(*tasks, count: 3, **options)
    worker(*tasks, **options).tap { eventually("all shards") { places.size == count } }
  end

  # Runs until the test sets @going_on, and counts in @most how many ran at once.
  def stay
    declare("stay:1.0", timeout: 60, idempotent: true) do |args, ctx|
      @lock.synchronize { @most = [@most, @running += 1].max }
      @going_on.wait(0.01) until @going_on.set? || ctx.cancelled?
      @lock.synchronize { @running -= 1 }
      args["n"]
    end
  end
end
