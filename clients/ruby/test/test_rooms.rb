# frozen_string_literal: true

require_relative "helper"
require "ripper"
require "tsort"
require "pshub/cli"
require "pshub/rails/active_jobs"
require "pshub/testing/minitest"
require "pshub/testing/rspec"

# The order of the rooms, which the npm package has too: a room knows only those before it. What is said here holds for each file.
class TestRooms < Minitest::Test
  ROOMS = %w[wire task figures redis queue settings catalogue outlets jobs hub http worker rails testing].freeze
  MOST_LINES = 450
  CLIENT = File.expand_path("..", __dir__)
  FOLDER = File.join(CLIENT, "lib/pshub")
  FILES = Dir[File.join(FOLDER, "**/*.rb")].freeze

  def short(path) = path.delete_prefix("#{FOLDER}/")
  # nil for the command, which stands before all rooms.
  def room_of(path) = short(path)[%r{\A(\w+)/}, 1]

  # Wherever in the file it says so.
  def required(path)
    found = File.read(path).scan(/^[^#\n]*\brequire(_relative)? ["'](.*)["']/).map do |relative, to|
      File.expand_path(to, relative ? File.dirname(path) : File.dirname(FOLDER)) if relative || to.start_with?("pshub")
    end
    found.compact.map { |to| "#{to.delete_suffix('.rb')}.rb" }
  end

  # Where the constants are defined that a file names; its own are not among them.
  def used(path)
    tokens = Ripper.lex(File.read(path)).map { |_, kind, text| [kind, text] }.reject { |kind, _| %i[on_sp on_comment].include?(kind) }
    found = tokens.each_index.select { |at| tokens[at].first == :on_const }.map do |at|
      before = tokens[[at - 2, 0].max...at].map(&:last)
      defined_in(tokens[at].last, before, path) unless %w[class module].include?(before.last)
    end
    found.compact.uniq - [path]
  end

  def defined_in(constant, before, path)
    return if before.last == "::" && !%w[Pshub Roles].include?(before.first)

    roles = before == %w[Roles ::] || (before.last != "::" && short(path).start_with?("worker/roles/"))
    place = [*(Pshub::Roles if roles), Pshub].find { |each| each.const_defined?(constant, false) }
    place.const_source_location(constant).first if place && constant != "Roles"
  end

  # Time is that of wire/clock.rb; the command waits for people, and what a test moves does not move by itself.
  def test_nothing_waits_that_the_clock_of_a_test_could_not_move
    own = FILES.reject { |path| %w[wire/clock.rb cli.rb].include?(short(path)) || room_of(path) == "testing" }
    wrong = /ConditionVariable|clock_gettime|Time\.now|pop\(timeout/
    assert_empty own.select { |path| File.read(path).gsub(/^\s*#.*/, "").match?(wrong) }.map { |path| short(path) }
  end

  def test_every_file_is_in_a_room
    assert_equal ROOMS.sort, FILES.filter_map { |path| room_of(path) }.uniq.sort
    assert_equal ["cli.rb"], FILES.reject { |path| room_of(path) }.map { |path| short(path) }
  end

  def test_a_room_knows_only_those_before_it
    wrong = FILES.select { |path| room_of(path) }.flat_map do |path|
      known = ROOMS[0..ROOMS.index(room_of(path))]
      required(path).reject { |to| known.include?(room_of(to)) }.map { |to| "#{short(path)} requires #{short(to)}" }
    end
    assert_empty wrong
  end

  def test_no_file_requires_itself_by_way_of_others
    each_child = ->(path, &block) { required(path).each(&block) }
    circles = TSort.strongly_connected_components(FILES.method(:each), each_child).select { |files| files.size > 1 }
    assert_empty(circles.map { |files| files.map { |path| short(path) } })
  end

  # Else the order would be one of words: a constant can be named wherever some file was loaded.
  def test_files_require_what_they_name_and_nothing_else
    FILES.each do |path|
      next if short(path) == "cli.rb"

      wanted, given = [used(path), required(path)].map { |files| files.map { |to| short(to) }.sort }
      assert_equal wanted, given, short(path)
    end
  end

  def test_no_file_is_long
    files = FILES + Dir[File.join(CLIENT, "{conformance,exe,lib,test}/*")].select { |path| File.file?(path) }
    long = files.to_h { |path| [path.delete_prefix("#{CLIENT}/"), File.foreach(path).count] }.select { |_, lines| lines > MOST_LINES }
    assert_empty long
  end
end
