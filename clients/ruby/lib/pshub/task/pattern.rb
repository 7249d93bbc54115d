# frozen_string_literal: true

require "strscan"

module Pshub
  # Reads patterns of JSON Schema, which are those of ECMA-262 with its flag u, as regular expressions of Ruby. What looks the same
  # there often is not: Ruby's ^ and $ are the ends of lines, and its classes know operators and classes within.
  class Pattern
    # It is not valid in ECMA-262.
    class Wrong < StandardError; end
    # It is one, of which Ruby has no equal.
    class Beyond < StandardError; end

    DIGITS = [[0x30, 0x39]].freeze
    WORDS = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]].freeze
    SPACES = [
      [0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f],
      [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff]
    ].freeze
    SETS = { "d" => DIGITS, "w" => WORDS, "s" => SPACES }.freeze
    CONTROLS = { "t" => 0x09, "n" => 0x0a, "v" => 0x0b, "f" => 0x0c, "r" => 0x0d }.freeze
    SYNTAX = "^$\\.*+?()[]{}|/"
    PLAIN = { "^" => "\\A", "$" => "\\z", "|" => "|", "." => "[^\\n\\r\\u2028\\u2029]" }.freeze
    GROUP = /\((\?(?:[:=!]|<[=!]|<([[:alpha:]_$][[:alnum:]_$]*)>))?/
    QUANTIFIER = /[*+?]\??|\{(\d+)(?:(,)(\d*))?\}(\??)/
    # Half of a surrogate pair cannot be held here.
    HALVES = (0xd800..0xdfff)
    CATEGORIES = %w[
      L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn
      Letter Uppercase_Letter Lowercase_Letter Titlecase_Letter Modifier_Letter Other_Letter Mark Number Decimal_Number Punctuation
      Symbol Separator Space_Separator Other Control
    ].freeze

    # What is meant by escapes of other languages, and of a pattern without its flag u.
    MEANT = { "A" => "^", "Z" => "$", "z" => "$", **"-!\"#%&',:;<=>@_`~ ".chars.to_h { |char| [char, char] } }.freeze

    # What to write in place of what is wrong in a pattern, where that is known.
    def self.advice(text)
      return "; write (?< instead of (?P<" if text.include?("(?P<")

      text.scan(/\[(?:\\.|[^\]\\])*\]|\\./m) do |part|
        part.scan(/\\./m) do |escape|
          plain = MEANT[escape[1]] unless escape == "\\-" && part.start_with?("[")
          return "; write #{plain} instead of #{escape}" if plain
        end
      end
      ""
    end

    # The Regexp. Raises Wrong or Beyond.
    def self.regexp(text)
      raise Wrong, "a pattern must be a text" unless text.is_a?(String)

      Regexp.new(new(text).ruby)
    rescue RegexpError => e
      raise Beyond, "the pattern #{text[0, 80].inspect} cannot be checked here: #{e.message[0, 80]}"
    end

    def initialize(text)
      @text = text
      @in = StringScanner.new(text)
      # Every "(" that is not escaped, in a class, or the start of something that captures nothing.
      plain = text.gsub(/\\.|\[(?:\\.|[^\]\\])*\]/m, "")
      @names = plain.scan(GROUP).select { |kind, name| kind.nil? || name }.map(&:last)
      wrong unless @names.compact.uniq.size == @names.compact.size
    end

    def ruby
      @out = +""
      # What each open group starts with, which says whether it may be repeated.
      @groups = []
      until @in.eos?
        next open_group if @in.check(/\(/)

        repeatable = one
        repeat(repeatable)
      end
      wrong unless @groups.empty?
      @out
    end

    private

    def wrong = raise(Wrong, "the pattern #{@text[0, 80].inspect} is not valid in ECMA-262")

    # Writes what comes next, and says whether it may be repeated.
    def one
      char = @in.getch
      case char
      when "[" then @out << klass
      when "\\" then return escape
      when ")" then return close_group
      when "^", "$", "|"
        @out << PLAIN[char]
        return false
      when "*", "+", "?", "{", "}", "]" then wrong
      else @out << PLAIN.fetch(char) { Regexp.escape(char) }
      end
      true
    end

    def open_group
      start = @in.scan(GROUP)
      start = "(" if @in[2]
      wrong if @in.check(/\?/)
      @groups << start
      @out << start
    end

    def close_group
      wrong if @groups.empty?
      @out << ")"
      ["(", "(?:"].include?(@groups.pop)
    end

    def repeat(repeatable)
      found = @in.scan(QUANTIFIER) or return
      least, comma, most, lazy = @in[1], @in[2], @in[3], @in[4]
      wrong if !repeatable || (!most.to_s.empty? && least.to_i > most.to_i)
      # {2}? is "twice or not at all" to Ruby.
      @out << (least && comma.nil? && lazy == "?" ? found.chop : found)
    end

    # Outside of a class, behind the backslash.
    def escape
      if @in.skip(/b/)
        word = among(WORDS)
        @out << "(?:(?<=#{word})(?!#{word})|(?<!#{word})(?=#{word}))"
        return false
      elsif @in.skip(/B/)
        word = among(WORDS)
        @out << "(?:(?<=#{word})(?=#{word})|(?<!#{word})(?!#{word}))"
        return false
      end
      @out << (@in.scan(/([1-9]\d*)|k<([^>]*)>/) ? reference(@in[1], @in[2]) : among(*set))
      true
    end

    # A group that took no part is an empty text there.
    def reference(number, name)
      number = number ? number.to_i : (@names.index(name) || -1) + 1
      wrong unless number.between?(1, @names.size)
      "(?(#{number})\\#{number}|)"
    end

    def klass
      negated = @in.skip(/\^/)
      ranges, properties = [], +""
      until @in.skip(/\]/)
        first, property = member
        if @in.check(/-[^\]]/m)
          @in.skip(/-/)
          last, other = member
          wrong if property || other || !one?(first) || !one?(last) || first[0][0] > last[0][0]
          first = [[first[0][0], last[0][0]]]
        end
        ranges.concat(first)
        properties << property.to_s
      end
      among(ranges, properties, negated: negated)
    end

    def member
      char = @in.getch or wrong
      return [[[char.ord, char.ord]], nil] unless char == "\\"
      return [[[8, 8]], nil] if @in.skip(/b/)
      return [[[0x2d, 0x2d]], nil] if @in.skip(/-/)

      set
    end

    # What an escape stands for, behind the backslash: ranges of characters, and a property of Unicode.
    def set
      return [[], property] if @in.check(/p/i)

      if @in.scan(/u([Dd][89ABab]\h\h)\\u([Dd][C-Fc-f]\h\h)/)
        code = 0x10000 + ((@in[1].hex - 0xd800) * 0x400) + @in[2].hex - 0xdc00
      elsif @in.scan(/x(\h\h)|u(\h{4})|u\{(\h+)\}/)
        code = (@in[1] || @in[2] || @in[3]).hex
        wrong if code > 0x10ffff
      elsif @in.scan(/[dwsDWS]/)
        name = @in.matched
        return [name == name.downcase ? SETS[name] : complement(SETS[name.downcase]), nil]
      else
        code = single
      end
      [[[code, code]], nil]
    end

    def single
      return 0 if @in.skip(/0(?!\d)/)
      return @in[1].ord % 32 if @in.scan(/c([A-Za-z])/)

      char = @in.getch or wrong
      CONTROLS.fetch(char) { SYNTAX.include?(char) ? char.ord : wrong }
    end

    def property
      negated = @in.getch == "P"
      @in.scan(/\{(?:(General_Category|gc|Script|sc)=)?([A-Za-z_]+)\}/) or wrong
      kind, name = @in[1], @in[2]
      unless CATEGORIES.include?(name) || %w[Script sc].include?(kind)
        raise Beyond, "the pattern #{@text[0, 80].inspect} has a Unicode property that cannot be checked here"
      end

      "\\p{#{'^' if negated}#{name}}"
    end

    def one?(ranges) = ranges.size == 1 && ranges[0][0] == ranges[0][1]

    def complement(ranges)
      ends = [-1, *ranges.flatten, 0x110000].each_slice(2).map { |last, first| [last + 1, first - 1] }
      ends.select { |first, last| first <= last }
    end

    def among(ranges, properties = nil, negated: false)
      members = merged(ranges).map { |first, last| first == last ? format("\\u{%x}", first) : format("\\u{%x}-\\u{%x}", first, last) }.join
      members << properties.to_s
      return negated ? "(?m:.)" : "(?!)" if members.empty?

      "[#{'^' if negated}#{members}]"
    end

    # In order, without overlaps, and without halves of surrogate pairs, which no text here has.
    def merged(ranges)
      whole = ranges.flat_map { |first, last| [[first, [last, HALVES.first - 1].min], [[first, HALVES.last + 1].max, last]] }
      whole.select { |first, last| first <= last }.sort.each_with_object([]) do |(first, last), out|
        out.any? && first <= out.last[1] + 1 ? out.last[1] = [out.last[1], last].max : out << [first, last]
      end
    end
  end
end
