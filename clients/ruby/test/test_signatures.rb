# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/in_memory"

# sig/pshub.rbs says what there is. The gem rbs comes with Ruby.
class TestSignatures < Minitest::Test
  SIG = File.expand_path("../sig/pshub.rbs", __dir__)
  # Of these all that is public is declared.
  WHOLE = %w[Hub Worker Job Chain Batch JobKey DeadJobs Schedules].freeze
  # What a Struct does, and what is for the library itself.
  OWN = { "Job" => %i[withdraw], "Schedules" => %i[write] }.freeze

  def setup
    # rbs loads Bundler, which in some versions names this before anybody has loaded it.
    require "rubygems/source"
    require "rbs"
  rescue LoadError => e
    skip "the gem rbs is not there: #{e.message}"
  end

  def test_the_file_is_valid
    assert system("ruby", "-e", 'load Gem.bin_path("rbs", "rbs")', "--", "-I", File.dirname(SIG), "validate", "--silent")
  end

  def test_all_that_it_declares_is_there_and_takes_the_same
    each_class do |name, cls, methods|
      methods.each do |method, overloads|
        next assert(cls.allocate.class.private_method_defined?(:initialize)) if method == :initialize && cls <= StandardError

        found = method == :initialize ? cls.instance_method(:initialize) : public_method(cls, method, name)
        overloads.each { |each| assert_fits(each.type, found, "#{name}##{method}") }
      end
    end
  end

  def test_all_that_is_public_is_declared
    each_class do |name, cls, methods|
      next unless WHOLE.include?(name)

      assert_empty cls.public_instance_methods(false) - methods.keys - OWN.fetch(name, []), name
    end
  end

  private

  def environment
    loader = RBS::EnvironmentLoader.new
    loader.add(path: Pathname(File.dirname(SIG)))
    RBS::Environment.from_loader(loader).resolve_type_names
  end

  def each_class
    found = environment.class_decls.select { |name, _| name.to_s.start_with?("::Pshub::") && name.to_s.count(":") == 4 }
    assert_operator found.size, :>, 30
    found.each do |name, entry|
      members = entry.decls.flat_map { |each| each.decl.members }
      methods = members.to_h do |member|
        [member.name, member.is_a?(RBS::AST::Members::MethodDefinition) ? member.types : []]
      end
      yield name.name.to_s, Pshub.const_get(name.name), methods
    end
  end

  def public_method(cls, method, name)
    assert cls.public_method_defined?(method) || cls.private_method_defined?(method), "#{name}##{method} is not there"
    cls.instance_method(method)
  end

  # Its parameters by position are as many, and a keyword that is named is one.
  def assert_fits(type, found, what)
    parameters = found.parameters
    kinds = parameters.map(&:first)
    return if kinds.include?(:rest)

    assert_equal kinds.count(:req), type.required_positionals.size, what
    assert_equal kinds.count(:opt), type.optional_positionals.size, what
    named = parameters.select { |kind, _| %i[key keyreq].include?(kind) }.map(&:last)
    declared = type.optional_keywords.keys + type.required_keywords.keys
    assert_empty kinds.include?(:keyrest) ? [] : declared - named, what
    assert_empty type.rest_keywords ? [] : named - declared, what
  end
end
