# frozen_string_literal: true

require_relative "helper"

# The golden file of shards, held against this gem.
class TestShardVectors < Minitest::Test
  CASES = Support.vectors("shards.json").freeze

  def test_records
    assert_operator CASES["records"].size, :>, 30
    CASES["records"].each do |each|
      found = Pshub::Shards.read(each["text"], each["queue"])
      expected = each["shards"]&.values_at("epoch", "names", "isComing", "earlier")
      expected ? assert_equal(expected, found.to_a, each["text"][0, 200]) : assert_nil(found, each["text"][0, 200])
    end
  end

  def test_homes
    assert_operator CASES["homes"].size, :>, 30
    CASES["homes"].each { |each| assert_equal each["home"], Pshub::Shards.home_of(each["names"], each["key"]), each.inspect }
  end

  def test_moved
    assert_operator CASES["moved"].size, :>, 5
    CASES["moved"].each { |each| assert_equal each["message"], Pshub::JobText.moved(each["text"], each["nowUs"]), each["title"] }
  end
end
