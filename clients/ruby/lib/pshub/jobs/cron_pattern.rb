# frozen_string_literal: true

module Pshub
  # A pattern of a schedule, which all languages read alike (PROTOCOL.md, section 10.14), with all its values named.
  #
  # +fields+:: second, minute, hour, day of month, month, day of week: each <tt>*</tt> alone, or a list of numbers; and +L+, <tt>1#2</tt>
  #            and +5L+, in that way
  class CronPattern
    # What is wrong with a pattern, for people; to end a sentence with, without a full stop.
    class Wrong < StandardError; end

    NICKNAMES = {
      "@yearly" => "0 0 1 1 *", "@annually" => "0 0 1 1 *", "@monthly" => "0 0 1 * *", "@weekly" => "0 0 * * 0",
      "@daily" => "0 0 * * *", "@midnight" => "0 0 * * *", "@hourly" => "0 * * * *"
    }.freeze
    MONTHS = %w[JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC].freeze
    DAYS = %w[SUN MON TUE WED THU FRI SAT].freeze
    LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].freeze
    # +names+ are those of the first values, +more+ is what it takes beside numbers, for people.
    Field = Struct.new(:name, :least, :most, :names, :more) do
      # 7 is another 0 of the days of the week.
      def week? = most == 7
      # How many different values there are.
      def size = most - least + (week? ? 0 : 1)
    end
    FIELDS = [
      Field.new("second", 0, 59, [], ""),
      Field.new("minute", 0, 59, [], ""),
      Field.new("hour", 0, 23, [], ""),
      Field.new("day of month", 1, 31, [], ", L"),
      Field.new("month", 1, 12, MONTHS, ", names as JAN"),
      Field.new("day of week", 0, 7, DAYS, ", names as MON, 1#2, 5L")
    ].freeze
    ITEM = %r{\A(?:\*|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:/([0-9]{1,2}))?\z}
    NTH = /\A([0-7]|[A-Z]{3})(?:#([1-5])|(L))\z/

    attr_reader :fields

    # Raises Wrong.
    def initialize(cron)
      texts = NICKNAMES.fetch(cron.strip.downcase, cron).upcase.tr("?", "*").split
      texts.unshift("0") if texts.size == 5
      unless texts.size == 6
        raise Wrong, "it must have five fields (minute, hour, day of month, month, day of week), or six with seconds in front"
      end

      read = FIELDS.zip(texts).map { |field, text| read_field(field, text) }
      @fixed = read.zip(texts).first(3).all? { |items, text| items.size == 1 && !text.match?(%r{[*/]}) }
      @fields = read.zip(texts).map { |items, text| text == "*" ? "*" : items.join(",") }
    end

    # It names one time of the day, which is not to be passed over, nor to come twice, where clocks are changed.
    def fixed? = @fixed

    # Whether there is a day that it means.
    def possible? = @fields.last != "*" || possible_days?

    # Whether there is one among its days of the month: the 31st is not in each.
    def possible_days?
      days, months, = @fields.last(3)
      return true if days == "*" || days.include?("L")

      longest = months == "*" ? 31 : months.split(",").map { |month| LONGEST_MONTHS[month.to_i - 1] }.max
      days.split(",").map(&:to_i).min <= longest
    end

    private

    # The values of a field.
    def read_field(field, text)
      numbers, others = [], []
      text.split(",", -1).each do |item|
        day, nth, last = NTH.match(item)&.captures if field.week?
        if day then others << "#{number(field, day, item) % 7}#{last || "##{nth}"}"
        elsif item == "L" && field.name == "day of month" then others << "L"
        else numbers.concat(values(field, item))
        end
      end
      numbers.uniq.sort.map(&:to_s) + others.uniq
    end

    def values(field, item)
      matched = ITEM.match(item) or raise wrong(field, item)
      first, last, step = matched.captures
      low = first ? number(field, first, item) : field.least
      high = first ? highest(field, low, last, item) : field.least + field.size - 1
      every = step ? step.to_i : 1
      raise wrong(field, item) if low > high || !every.between?(1, field.size) || (step && first && last.nil?)

      (low..high).step(every).map { |value| field.week? ? value % 7 : value }
    end

    def highest(field, low, last, item)
      return low unless last

      # A week may end with a Sunday.
      high = number(field, last, item)
      last == "SUN" ? 7 : high
    end

    def number(field, text, item)
      named = field.names.index(text)
      return named + field.least if named
      return text.to_i if text.match?(/\A[0-9]+\z/) && text.to_i.between?(field.least, field.most)

      raise wrong(field, item)
    end

    def wrong(field, item)
      takes = "it takes #{field.least} to #{field.most}#{field.more}, *, lists, ranges as 1-5 and steps as */2 or 1-5/2"
      Wrong.new("its #{field.name} cannot be '#{item[0, 40]}'; #{takes}")
    end
  end
end
