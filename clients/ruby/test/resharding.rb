# frozen_string_literal: true

# Changes over which shards the queue "default" is spread, as pshub shards does.
module Resharding
  KEYS = Pshub::Keys.new("pshub")
  # Hubs put work for two seconds where they last knew that it belongs.
  QUIET_S = 3

  def spread(epoch, names, coming: false, earlier: nil)
    record = Pshub::Shards.new(epoch, names, coming, earlier)
    record.served.each { |name| record.note(link, KEYS, name) }
  end

  def link(url = server.url)
    @link ||= ending(Pshub::Connection.new("test", "commands", url, 2.0, Pshub::Events.new).tap { |made| made.wait_ready(Pshub::Stop.new) }, :close)
  end

  # The steps up to that from which hubs use the new names.
  def change(epoch, names, earlier)
    spread(epoch, names, coming: true, earlier: earlier)
    spread(epoch + 1, names, earlier: earlier)
  end

  # The last step, once nothing has been left of what was before for a while. +lines+ lists the keys of lines that wait.
  def settle(epoch, names, &lines)
    quiet_since = Pshub::Clock.now
    eventually("an end of what was", patience: 60) do
      left = lines.call.map { |key| key.match(/\Apshub:\{(.+?)\}:line:[^:]+:[^:]+:(.+)\z/m).captures }
      quiet_since = Pshub::Clock.now if left.any? { |place, key| Pshub::Shards.home_of(names, key) != place }
      Pshub::Clock.now - quiet_since > QUIET_S
    end
    spread(epoch, names)
  end

  # Each key's jobs ran once, in their order, one at a time. +runs+ are of key, number, begin and end.
  def assert_order(counts, runs)
    assert_equal counts, runs.map(&:first).tally
    runs.group_by(&:first).each do |key, own|
      assert_equal (0...own.size).to_a, own.map { |run| run[1] }, key
      own.each_cons(2) { |before, after| assert_operator before[3], :<=, after[2], key }
    end
  end
end
