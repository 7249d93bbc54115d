# frozen_string_literal: true

require_relative "helper"

# Tasks that do harm when they are run by mistake say so.
class TestDangerous < PshubTest
  def test_it_is_on_the_card
    worker(
      declare("wipe:1.0", dangerous: "Deletes all orders.") { 1 }, declare("drop:1.0", dangerous: true) { 1 }, declare("look:1.0") { 1 }
    )
    cards = server.client.hgetall("pshub:tasks").transform_values { |card| JSON.parse(card) }
    assert_equal ["Deletes all orders.", true, nil], %w[wipe:1.0 drop:1.0 look:1.0].map { |name| cards[name]["dangerous"] }
  end

  def test_what_says_neither_is_refused
    ["", "  ", "x" * 501, 1, []].each do |dangerous|
      wrong = assert_raises(Pshub::ConfigError) { declare("wipe:1.0", dangerous: dangerous) { 1 } }
      assert_match(/dangerous must be true or false, or say why in 1 to 500 characters/, wrong.message)
    end
  end
end
