# Lowkiq, as its own command runs it and as its own benchmark sets it up. Each job has an id of its own, so that none are merged.
require 'lowkiq'
require_relative 'drained'

Lowkiq.threads_per_node = Integer(ENV.fetch('BENCH_SLOTS', '5'))
Lowkiq.build_scheduler = -> { Lowkiq.build_seq_scheduler }

module Blank
  extend Lowkiq::Worker

  self.shards_count = Integer(ENV.fetch('BENCH_SLOTS', '5'))

  def self.perform(payloads_by_id)
    payloads_by_id.size.times { Drained.job }
  end
end

def enqueue(count)
  @ids ||= 0
  (0...count).each_slice(1000) do |part|
    Blank.perform_async(part.map { |n| { id: @ids + n, payload: { 'n' => n } } })
  end
  @ids += count
end
