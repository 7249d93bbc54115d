# frozen_string_literal: true

require "socket"
require_relative "../redis/target"
require_relative "../wire/keys"
require_relative "../wire/names"
require_relative "../wire/payload"
require_relative "kinds"

# The one table of settings.
module Pshub
  both = %i[hub worker].freeze
  # Every setting there is.
  SETTINGS = {
    # What is wrong with it tells what to write instead.
    redis: { users: both, env: "PSHUB_REDIS", fallback: "redis://127.0.0.1:6379", parse: :itself.to_proc,
             must: ->(value) { Target.wrong(value) }, check: ->(value) { Target.wrong(value).nil? } },
    namespace: { users: both, env: "PSHUB_NAMESPACE", fallback: "pshub",
                 **Setting.text("be 1 to 32 letters, digits, and _ . -") { |value| Keys.namespace?(value) } },
    name: { users: both, env: "PSHUB_NAME", fallback: -> { Socket.gethostname[0, 64] },
            **Setting.text("be a string of 1 to 64 characters") { |value| value.is_a?(String) && value.length.between?(1, 64) } },
    queue: { users: %i[worker], env: "PSHUB_QUEUE", fallback: "default",
             **Setting.text("be the name of one queue, 1 to 64 letters, digits, and _ . -") { |value| Keys.queue_name?(value) } },
    slots: { users: %i[worker], env: "PSHUB_SLOTS", fallback: 4, **Setting.whole(1, 256) },
    # nil: half of the slots, rounded up.
    job_slots: { users: %i[worker], env: "PSHUB_JOB_SLOTS", fallback: nil, **Setting.whole(0, 256) },
    max_payload_bytes: { users: both, env: "PSHUB_MAX_PAYLOAD_BYTES", fallback: 1 << 20, **Setting.whole(1024, 64 << 20) },
    max_backlog: { users: both, env: "PSHUB_MAX_BACKLOG", fallback: 10_000, **Setting.whole(1, 10_000_000) },
    grace: { users: %i[worker], env: "PSHUB_GRACE_MS", fallback: 10.0, **Setting.seconds(0, 3600) },
    # A beat is sent every second; with less, one that is late would pass for a death.
    lease: { users: %i[worker], env: "PSHUB_LEASE_MS", fallback: 4.0, **Setting.seconds(2, 600) },
    # Where probes are answered over HTTP, on all addresses of the host; 0 takes a free port.
    health_port: { users: %i[worker], env: "PSHUB_HEALTH_PORT", fallback: nil, **Setting.whole(0, 65_535) },
    # Which build of the program the worker runs, as a git commit or the tag of an image.
    build: { users: %i[worker], env: "PSHUB_BUILD", fallback: nil,
             **Setting.text("be a string of 1 to 64 characters without control characters") { |value| Names.build?(value) },
             parse: Payload.method(:utf8) },
    statsd: { users: both, env: "PSHUB_STATSD", fallback: nil,
              **Setting.text("be host:port") { |value| value.nil? || value.to_s.match?(/\A[^\s:]+:[0-9]{1,5}\z/) } }
  }.transform_values { |row| Setting.new(**row) }.freeze
end
