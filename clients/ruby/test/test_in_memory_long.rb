# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/minitest"

# The clock of InMemory over long times, and what documents say of it.
class TestInMemoryLong < PshubTest
  include Pshub::MinitestHelpers

  def setup
    super
    sent = @sent = []
    @mail = declare("mail:1.0", retries: 2, backoff: 60_000) do |args, ctx|
      sent << args
      raise "refused" if args["failures"].to_i >= ctx.attempt
    end
    @daily = declare("daily:1.0") { sent << "daily" }
  end

  def test_the_clock_goes_on_by_days_of_schedules_and_retries
    kit = in_memory(@mail, @daily)
    kit.hub.schedule("nightly", { cron: "0 3 * * *", timezone: "UTC" }, "daily:1.0")
    kit.hub.enqueue(@mail, { failures: 2 })
    kit.clock.advance(59)
    assert_equal(1, @sent.size)
    kit.clock.advance(2)
    assert_equal(2, @sent.size)
    kit.clock.advance(3 * 24 * 3600)
    assert_equal([3, 6], [@sent.count("daily"), @sent.size])
  end

  def test_the_clock_goes_to_a_time_and_not_back_and_is_again_what_it_was
    kit = in_memory(@mail)
    kit.clock.advance_to(new_year = Time.utc(2099))
    assert_includes(0...1000, kit.clock.now_ms - (new_year.to_i * 1000))
    [-1, Float::INFINITY, "1", nil].each do |wrong|
      assert_match(/seconds from 0/, assert_raises(Pshub::ConfigError) { kit.clock.advance(wrong) }.message)
    end
    assert_raises(Pshub::ConfigError) { kit.clock.advance_to(Time.utc(2020)) }
    kit.close
    assert_in_delta(Time.now.to_f * 1000, in_memory(@mail).clock.now_ms, 60_000)
  end

  def test_waits_of_a_context_go_by_the_clock
    kit = in_memory(declare("nap:1.0", timeout: 7200) { |_, ctx| ctx.wait(3600) ? "told" : "rested" })
    call = kit.hub.submit("nap:1.0")
    kit.clock.advance(3500)
    refute(call.done?)
    kit.clock.advance(101)
    assert_equal("rested", call.result)
  end

  def test_what_readme_says_runs
    chapter = File.read(File.join(ROOT, "clients/ruby/README.md"))[/^## Testing without Redis\n.*?(?=^## )/m]
    test, for_rspec = chapter.scan(/^```ruby\n(.*?)^```$/m).flatten
    said, status = Open3.capture2e(RbConfig.ruby, "-I", File.join(ROOT, "clients/ruby/lib"), "-e", test)
    assert_predicate(status, :success?, said)
    assert_includes(said, "1 runs, 3 assertions, 0 failures, 0 errors")
    _, parsed = Open3.capture2e(RbConfig.ruby, "-c", "-e", for_rspec)
    assert_predicate(parsed, :success?)
  end

  def test_without_lua_it_says_what_to_install
    code = %(require "pshub/testing/in_memory"; Pshub::Lua::FILES.clear rescue Pshub::Lua.send(:remove_const, :FILES) && Pshub::Lua::FILES = []) +
           %(; begin; Pshub::InMemory.new; rescue Pshub::ConfigError => e; puts e.message; end)
    said, = Open3.capture2e({ "PSHUB_LUA" => nil }, RbConfig.ruby, "-W0", "-I", File.expand_path("../lib", __dir__), "-e", code)
    assert_match(/apt-get install liblua5.1-0.*PSHUB_LUA/, said)
  end

  def test_drain_waits_for_merged_runs_and_chunks
    sent = @sent
    merged = declare("merged:1.0", keyed: "merged") do |by_key|
      delay 0.05, "drain has something to wait for"
      sent << by_key
    end
    chunks = declare("chunks:1.0") do
      Enumerator.new do |out|
        3.times { |n| delay(0.01, "drain has something to wait for") && (out << n) }
        sent << "chunks"
      end
    end
    kit = in_memory(merged, chunks)
    kit.hub.enqueue(merged, 1, key: "a")
    kit.hub.enqueue(chunks)
    assert_equal(2, kit.drain)
    assert_equal(["chunks", { "a" => [1] }], sent.sort_by(&:to_s))
  end
end
