# frozen_string_literal: true

module Pshub
  # What a worker holds, and under which ids: a call under its own, a job under job:<id>, and what was adopted under lost:<id> or
  # lost:job:<id>. What is to be done in another queue is held under out:<queue>:<id>. Nobody else reads these prefixes.
  module Held
    # Of a job.
    def self.as_job(id) = "job:#{id}"
    def self.job?(held_id) = held_id.delete_prefix("lost:").start_with?("job:")
    # Whether it was taken over from a lost worker, and may have been started there.
    def self.lost?(held_id) = held_id.start_with?("lost:")
    # Whether it is something to be done in another queue.
    def self.out?(held_id) = held_id.start_with?("out:")
    # The id without what it is held as.
    def self.plain_id(held_id) = held_id.delete_prefix("lost:").delete_prefix("job:")
  end

  # A request that ended in this worker.
  #
  # +id+:: under which it is held
  # +worker_id+:: the worker id it was claimed under
  # +hub_id+:: nil when nobody waits for a reply
  # +slot+:: what it ran in; nil for what did not run
  # +job+:: how a job ended, a JobEnd; nil where all that is left to do is to release it
  # +at+:: which time of holding that job this ends: by its leading +at+
  Settlement = Struct.new(:id, :worker_id, :hub_id, :reply, :slot, :job, :at, keyword_init: true)
end
