# frozen_string_literal: true

require_relative "helper"

# Values that JSON does not have are refused with their place.
class TestUnsendable < Minitest::Test
  def test_the_place_is_told
    { "/a~1b/1" => { "a/b" => [0, Object.new] }, "/n/0" => { n: [Float::NAN] }, "" => 1..3 }.each do |pointer, value|
      problem = assert_raises(Pshub::Payload::Problem) { Pshub::Payload.encode(value) }.problem
      assert_equal pointer, problem["pointer"]
    end
  end

  def test_data_of_an_error_that_cannot_travel_says_why
    told = Pshub::Failures.of(Pshub::TaskError.new("closed", data: { at: [Object.new] }))
    assert_equal "closed", told["message"]
    assert_equal "/data/at/0", told["data"]["problems"][0]["pointer"]
  end

  def test_large_integers_stay_what_they_are_where_payloads_are_compared
    assert_equal '{"a":-9007199254740993,"b":4611686018427387904}', Pshub::Canonical.text({ "b" => 2**62, "a" => -(2**53) - 1 })
  end
end
