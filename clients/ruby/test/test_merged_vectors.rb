# frozen_string_literal: true

require_relative "helper"

# The golden file of merged jobs, held against this gem.
class TestMergedVectors < PshubTest
  MERGED = Support.vectors("merged.json").freeze
  KEYS = Pshub::Keys.new("pshub")

  def merged(**options) = declare("sync:1.0", keyed: "merged", **options) { nil }
  # Options are named there as in TypeScript.
  def named(options) = options.to_h { |name, value| [name.gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }.to_sym, value] }
  # As a worker reads it.
  def read(message) = Pshub::MergedRun.decode(message.b, nil, KEYS, true).tap { |request| request.held_id = "job:m-7" }

  def words_of(task, message)
    Pshub::MergedRun.refused("job:m-7", task, Pshub::MergedRun.args_of(read(message)))&.words&.join(" ")
  end

  # +words+ may be nil.
  def same(expected, found, title) = assert_equal([expected], [found], title)

  def test_there_are_cases_of_everything
    assert_equal %w[about ends enqueued refused refusedRuns runs], MERGED.keys.sort
    MERGED.except("about").each_value { |cases| assert_operator cases.size, :>, 1 }
  end

  def test_enqueued
    MERGED["enqueued"].each do |each|
      task, args = each.values_at("task", "args")
      part, ttl_ms = Pshub::EnqueueOptions.shape(task, args, named(each["options"]), "merged", each["scores"])
      step = Pshub::Step.new(id: "x", task: task, queue: "q", args: Pshub::Canonical.text_of(args), job: part, ttl_ms: ttl_ms)
      assert_equal each["message"].sub("<id>", "x"), Pshub::Steps.message([step], "shop", "a"), each["title"]
    end
  end

  def test_refused
    MERGED["refused"].each do |each|
      error = assert_raises(Pshub::InvalidArgs, each["title"]) do
        Pshub::EnqueueOptions.shape("sync:1.0", "1", named(each["options"]), "merged")
      end
      # Options are named as they are here.
      assert_includes error.message, each["says"], each["title"]
    end
  end

  def test_runs
    MERGED["runs"].each do |each|
      run = Pshub::MergedRun.args_of(read(each["message"]))
      shown = run.map do |key, payloads|
        [key, payloads.map { |payload| payload.equal?(Pshub::MergedRun::UNREADABLE) ? nil : JSON.generate(payload) }]
      end
      assert_equal each["byKey"], shown, each["title"]
      same each["words"], words_of(merged, each["message"]), each["title"]
    end
  end

  def test_refused_runs
    MERGED["refusedRuns"].each do |each|
      same each["words"], words_of(merged(args: JSON.parse(each["schema"])), each["message"]), each["title"]
    end
  end

  def test_ends
    MERGED["ends"].each do |each|
      task = merged(**named(each.slice("retries", "backoff")))
      ended = end_of(read(each["message"]), task, each["outcome"])
      assert_equal each.values_at("how", "words"), [ended.outcome, ended.words&.join(" ")], each["title"]
    end
  end

  def end_of(request, task, outcome)
    return Pshub::JobVerdict.done(request, "null", "q") if outcome["ok"]

    raised = outcome["putOffMs"] ? Pshub::PutOff.new(outcome["putOffMs"]) : Pshub::TaskError.new("no", retryable: !outcome["isFinal"])
    Pshub::JobVerdict.failed(request, task, { "code" => outcome.fetch("code", "TaskFailed"), "message" => "no" }, raised)
  end

  # What no vector has: each of them is none, and together they are fewer than they should be, more, or as many.
  def test_payloads_that_are_json_only_together
    run = ->(sizes, args) { %({"at":1,"ttl":0,"id":"m-7","job":{"fence":7,"run":[["a",0,[#{sizes}]]]},"task":"sync:1.0","args":[#{args}]}) }
    { ["2,1,2,2,1,3", "[1,2],3"] => "x1", ["3,1,1,2", "1,2,3"] => "x1", ["1,0,3,1,2,2,2,3", "0,1,2,[3,4]"] => "x2" }.each do |given, words|
      assert_equal words, words_of(merged, run.call(*given)), given.inspect
    end
    assert_equal "x1", words_of(merged, run.call("3,1,1,2", "\"\xff\",1"))
  end
end
