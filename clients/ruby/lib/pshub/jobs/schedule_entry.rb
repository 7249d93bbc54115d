# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/foreign"
require_relative "../wire/ids"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/payload"
require_relative "chain"
require_relative "cron"
require_relative "cron_pattern"

module Pshub
  # A schedule as it lies in Redis, and what is to be done at its times. PROTOCOL.md, section 10.14.
  #
  # +args+:: JSON
  # +timezone+:: nil: UTC
  # +missed+:: +once+ or +skip+; nil where it was not said
  # +paused_ms+:: since when it is paused, milliseconds since 1970; nil: it is not
  ScheduleEntry = Struct.new(:cron, :timezone, :missed, :task, :args, :job, :ttl_ms, :paused_ms, :from, keyword_init: true)

  # Made, read and asked.
  class ScheduleEntry
    KNOWN = %i[cron timezone missed].freeze
    # A time that is this late was missed.
    MISSED_MS = 60_000
    # No entry is longer.
    MAX_ENTRY = 2 * 1024 * 1024
    LATEST_MS = 8_640_000_000_000_000

    class << self
      # What was given for times, as texts. Raises InvalidArgs that says what is wrong with them, ConfigError where no pattern can be read.
      def check_times(name, times)
        need_cron
        raise wrong(name, "its name must be 1 to 64 letters, digits, dots, dashes and underscores") unless Keys.queue_name?(name)

        given = times.is_a?(Hash) ? times.compact.transform_keys { |key| key.to_s.to_sym } : {}
        unknown = (given.keys - KNOWN).first
        raise wrong(name, "there is no option '#{unknown}'. Known: #{KNOWN.join(', ')}") if unknown
        raise wrong(name, "cron must be a string like '0 3 * * *'") unless text?(given[:cron])

        missed = given[:missed].to_s
        raise wrong(name, "missed must be 'once' or 'skip'") unless ["", "once", "skip"].include?(missed)

        check_next(name, given[:cron], given[:timezone])
        given.merge(given.key?(:missed) ? { missed: missed } : {})
      end

      def need_cron
        raise ConfigError, "#{Cron::MISSING.sub(/\A./, &:upcase)}." if Cron::MISSING
      end

      # nil for what cannot be used.
      def read(raw)
        entry = Foreign.object(raw.to_s, MAX_ENTRY)
        cron, task, args, timezone, job, ttl, paused_ms, from =
          entry.values_at("cron", "task", "args", "timezone", "job", "ttl", "pausedMs", "from")
        return nil unless [cron, task, args].all? { |text| text?(text) }

        new(cron: cron, timezone: text?(timezone) ? timezone : nil, missed: entry["missed"] == "skip" ? "skip" : "once",
            task: Foreign.text(task, 128), args: args, job: job.is_a?(Hash) ? JobPart.read(job) : nil,
            ttl_ms: Foreign.count?(ttl) ? ttl.to_i : 0, paused_ms: Foreign.count?(paused_ms, LATEST_MS) ? paused_ms.to_i : nil,
            from: text?(from) ? from[0, 64] : nil)
      rescue Foreign::Unreadable
        nil
      end

      private

      def text?(value) = value.is_a?(String) && value.valid_encoding?

      def check_next(name, cron, timezone)
        now_ms = Clock.wall_ms
        problem = begin
          Cron.check_zone(timezone.to_s) unless timezone.nil?
          "it has no run time in the future" unless Cron.next_ms(cron, timezone.nil? ? "UTC" : timezone.to_s, now_ms)
        rescue CronPattern::Wrong => e
          e.message
        end
        where = timezone.nil? ? "" : " in #{timezone.to_s[0, 80]}"
        raise wrong(name, "cron '#{cron[0, 80]}'#{where}: #{problem}") if problem
      end

      def wrong(name, what) = InvalidArgs.new("schedule #{name.to_s.scrub[0, 80]}: #{what}.")
    end

    # The first time behind this moment; nil when there is none. Raises CronPattern::Wrong.
    def next_ms(after_ms) = Cron.next_ms(cron, timezone || "UTC", after_ms)

    def to_json(*)
      told = { "cron" => cron, "timezone" => timezone, "missed" => missed, "task" => task, "args" => args, "job" => job, "ttl" => ttl_ms,
               "pausedMs" => paused_ms, "from" => from }
      Payload.compact(told.compact)
    end

    # What is to be done at a time that has come: its job, empty where that time is passed over, and the next time.
    def tick(tick_ms, now_ms, queue)
      skipped = missed == "skip" && now_ms - tick_ms > MISSED_MS
      [skipped ? "" : message(Ids.make, queue, tick_ms), next_ms([now_ms, tick_ms].max)]
    end

    # Its job, due at this moment.
    def message(id, queue, due_ms)
      step = Step.new(id: id, task: task, queue: queue, args: args, job: { **(job || {}), "due" => due_ms }, ttl_ms: ttl_ms)
      Steps.message([step], from)
    end
  end
end
