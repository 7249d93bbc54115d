# frozen_string_literal: true

require_relative "helper"

# A task that merges its jobs, and what is in Redis of it.
module Merging
  Run = Struct.new(:keys, :attempt, :fence)
  TASK = "merge:1.0"
  QUEUE = Pshub::Keys.new("pshub").queue("default")

  def setup
    super
    @runs = []
  end

  # Notes its runs; the block is what it does then, and is given that run, too.
  def noting(keyed: "merged", **options, &act)
    declare(TASK, keyed: keyed, **options) do |by_key, ctx|
      run = Run.new(by_key.to_a, ctx.attempt, ctx.fence)
      @runs << run
      act&.call(by_key, ctx, @runs.size)
    end
  end

  # A hub, once the task is declared; nobody takes anything until its worker is started.
  def declared(task)
    worker(task).stop
    hub
  end

  def told_by(serving, *names)
    told = Thread::Queue.new
    names.each { |name| serving.events.on(name) { |event| told << [name, event] } }
    told
  end

  def taken(queue, count)
    eventually("#{count} of them") { queue.size >= count }
    Array.new(count) { queue.pop }
  end

  def seen(count) = eventually("#{count} runs") { @runs.size >= count && @runs.first(count).map(&:keys) }
  # What waits of a key, as Redis has it.
  def waiting(key) = server.client.zrange(QUEUE.merged(TASK, key), 0, -1, with_scores: true).to_h
  def now_ms = server.client.time.then { |seconds, us| (seconds * 1000) + (us / 1000) }
end
