# frozen_string_literal: true

require_relative "cron_pattern"

begin
  require "fugit"
  require "tzinfo"
rescue LoadError
  nil
end

module Pshub
  # When the next time of a schedule is.
  module Cron
    # A time zone that cannot be read here. Somebody else may know it.
    class UnknownZone < StandardError
      def initialize(name) = super("#{name.scrub[0, 80]} is not among the time zones of this host; tzdata or the gem tzinfo-data has all of them")
    end

    # Why schedules cannot be made here, and what to do about it; nil where they can.
    MISSING = defined?(Fugit::Cron) && defined?(TZInfo::Timezone) ? nil : "schedules need the gem fugit; add it to your Gemfile"
    DAY_S = 86_400
    ZONE = %r{\A[A-Z][A-Za-z0-9_+-]*(?:/[A-Z][A-Za-z0-9_+-]*)*\z}

    module_function

    # The first time behind this moment, milliseconds since 1970; nil when there is none. fugit knows of days and weeks; what becomes of a
    # time where clocks are changed is said here, because every library has another opinion of that, and all languages must have one.
    # Raises CronPattern::Wrong, UnknownZone.
    def next_ms(cron, zone_name, after_ms)
      pattern = CronPattern.new(cron)
      zone = zone_of(zone_name)
      return nil unless pattern.possible?

      walls = fugit_texts(pattern).map { |text| Fugit::Cron.parse("#{text} UTC") }
      after = (after_ms / 1000).floor
      found = pattern.fixed? ? fixed(walls, zone, after) : open(walls, zone, after)
      found && (found * 1000)
    end

    # The days of both kinds apart: with the 31st and a day of the week together fugit 1.5 passes over shorter months.
    def fugit_texts(pattern)
      *time, days, months, weekdays = pattern.fields
      both = days == "*" || weekdays == "*" ? [[days, weekdays]] : [[days, "*"], ["*", weekdays]]
      both.shift unless pattern.possible_days?
      both.map { |day, weekday| [*time, day, months, weekday].join(" ").gsub(/(\d)L/, '\1#-1') }
    end

    # One time a day: at the end of a gap that swallows it, once where it comes twice.
    def fixed(walls, zone, after)
      wall = after + offset(zone, after)
      loop do
        wall = next_wall(walls, wall) or return nil
        moment = fixed_moment(zone, wall)
        return moment if moment && moment > after
      end
    end

    def fixed_moment(zone, wall)
      moments = zone.periods_for_local(Time.at(wall).utc).map { |period| wall - period.observed_utc_offset }
      return moments.min if moments.any?

      # In the gap: clocks are changed within a day of it.
      change = change(zone, wall - DAY_S - offset(zone, wall - DAY_S), wall + DAY_S)
      # A whole day may be skipped.
      change if change && (change + offset(zone, change)) / DAY_S == wall / DAY_S
    end

    # The first moment whose local time fits: where clocks go back, local times come twice.
    def open(walls, zone, after)
      since = after
      offset = offset(zone, since)
      wall = since + offset
      loop do
        found = next_wall(walls, wall) or return nil
        change = change(zone, since, found - offset)
        return found - offset unless change

        since = change
        offset = offset(zone, since)
        wall = since + offset - 1
      end
    end

    # Local times that fit, as seconds since 1970 of a clock that is never changed.
    def next_wall(walls, behind) = walls.filter_map { |each| each.next_time(Time.at(behind).utc)&.to_i }.min

    def period(zone, moment) = zone.period_for_utc(Time.at(moment).utc)
    def offset(zone, moment) = period(zone, moment).observed_utc_offset

    # The first moment behind +since+, up to +till+, from which on clocks are set otherwise than then; nil for none.
    def change(zone, since, till)
      period = period(zone, since)
      before = period.observed_utc_offset
      while (ends = period.ends_at&.to_i) && ends <= till
        return ends unless (period = period(zone, ends)).observed_utc_offset == before
      end
      nil
    end

    def zone_of(name)
      return TZInfo::Timezone.get(name).tap(&:current_period) if name.match?(ZONE)

      raise UnknownZone, name
    rescue TZInfo::InvalidTimezoneIdentifier, TZInfo::DataSourceNotFound
      raise UnknownZone, name
    end

    # Any worker must be able to keep a schedule up: its zone is named in the letters of the IANA database. Raises CronPattern::Wrong.
    def check_zone(name)
      raise UnknownZone, name if name == "Factory"

      zone_of(name)
    rescue UnknownZone
      raise CronPattern::Wrong, "there is no such time zone; use a name such as Europe/Berlin"
    end
  end
end
