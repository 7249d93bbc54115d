# frozen_string_literal: true

require_relative "helper"

# The golden files of all languages, held against this package.
class TestVectors < Minitest::Test
  include Support

  def test_ids_are_unlike_each_other_and_no_options_of_a_command_line
    made = Array.new(5000) { Pshub::Ids.make }.uniq
    assert_equal [5000, []], [made.size, made.grep_v(/\A\w[\w-]{21}\z/)]
  end

  def test_keys_that_would_become_one_are_refused
    problem = assert_raises(Pshub::Payload::Problem) { Pshub::Payload.encode({ "in" => [{ "a" => 1, a: 2 }] }) }
    assert_equal ["/in/0/a", true], [problem.problem["pointer"], problem.message.include?("appears twice")]
    assert_equal '{"a":1,"b":2}', Pshub::Payload.encode({ "a" => 1, b: 2 })
  end

  def test_names
    names = vectors("names.json")
    { "namespaces" => :namespace?, "queues" => :queue_name?, "ids" => :id? }.each do |kind, check|
      assert_empty names[kind]["valid"].reject { |text| Pshub::Keys.public_send(check, text) }
      assert_empty names[kind]["invalid"].select { |text| Pshub::Keys.public_send(check, text) }
    end
    names["declared"].each { |each| declared(each["name"], each["parsed"]) }
    names["called"].each do |each|
      expected = each["parsed"]&.values_at("name", "major", "minor") || []
      assert_equal expected, Pshub::Names.parse_called(each["name"]).to_a, each["name"]
    end
    ordered = names["newestFirst"]
    assert_equal ordered, ordered.sort.map { |each| Pshub::Names.parse(each) }.sort_by { |each| Pshub::Names.newest_first(each) }.map(&:full)
  end

  def declared(name, parsed)
    found = Pshub::Names.try_parse(name)
    if parsed
      assert_equal [name, *parsed.values_at("name", "major", "minor")], found.to_a
    else
      assert_nil found, name
      assert_raises(Pshub::ConfigError) { Pshub::Names.parse(name) }
    end
  end

  def test_reply_lists
    lists = vectors("reply-lists.json")
    keys = Pshub::Keys.new(lists["namespace"])
    lists["cases"].each do |each|
      found = keys.hub_id_of(each["result_queue"])
      each["hubId"] ? assert_equal(each["hubId"], found) : assert_nil(found, each.inspect)
      assert_equal each["result_queue"], keys.reply(found) if found
    end
  end

  def test_requests
    file = vectors("requests.json")
    keys = Pshub::Keys.new(file["namespace"])
    file["cases"].each { |each| each["malformed"] ? malformed(each, keys) : well_formed(each, keys) }
  end

  def malformed(each, keys)
    error = assert_raises(Pshub::Message::Malformed, each["title"]) do
      Pshub::Message.decode_request(each["text"], each["heldId"], keys)
    end
    assert_equal each["malformed"], error.message, each["title"]
  end

  def well_formed(each, keys)
    request = Pshub::Message.decode_request(each["text"].b, each["heldId"], keys)
    names = %w[id heldId atUs ttlMs task args hubId from traceparent tracestate idempotent losses]
    assert_equal({ "idempotent" => false, **each["request"] }.values_at(*names), request.to_a.first(names.size), each["title"])
    assert_equal each["text"], request.text
    assert_equal each["request"]["job"]&.compact.inspect, request.job.inspect, each["title"]
    each["request"]["asked"] ? assert_equal(each["request"]["asked"].values, request.asked.to_a) : assert_nil(request.asked, each["title"])
    assert_equal each["request"].fetch("then", []), request.then_steps || [], each["title"]
  end

  def test_marks_of_what_may_have_been_started
    file = vectors("marks.json")
    read = ->(each) { Pshub::Message.decode_request(each["text"], nil, Pshub::Keys.new("pshub")) }
    file["read"].each do |each|
      request = read[each]
      assert_equal each.values_at("losses", "mayHaveRun"), [request.losses, request.may_have_run], each["title"]
    end
    file["told"].each { |each| assert_equal each["told"], Pshub::Message.told(read[each], each["error"]), each["title"] }
  end

  def test_replies
    vectors("replies.json")["cases"].each do |each|
      found = Pshub::Message.decode_reply(each["text"].b)
      found["progress"] = JSON.parse(found["progress"].json) if found&.key?("progress")
      each["reply"] ? assert_equal(each["reply"], found, each["title"]) : assert_nil(found, each["title"])
    end
  end

  def test_errors
    file = vectors("errors.json")
    rows = file["table"].map { |row| row.values_at("code", "ran", "retryable", "status", "meaning") }
    assert_equal(rows, Pshub::ERROR_TABLE.map { |code, row| [code, *row.to_a] })
    file["cases"].each do |each|
      error = Pshub::Errors.from_wire(each["error"])
      told = { "code" => error.code, "message" => error.message, "ran" => error.ran, "retryable" => error.retryable,
               "status" => error.http_status, "data" => error.data }
      assert_equal each["expected"], told
      assert_instance_of Pshub.const_get(error.kind), error
    end
  end

  def test_problems
    file = vectors("problems.json")
    file["cases"].each do |each|
      problem = Pshub.problem_of(Pshub::Errors.from_wire(each["error"]))
      assert_equal each["body"], problem.body
      assert_equal each["body"]["status"], problem.status
      assert_equal({ "content-type" => "application/problem+json", "retry-after" => each["retryAfter"] }.compact, problem.headers)
    end
    file["timeouts"].each do |header, ms|
      next assert_raises(Pshub::InvalidArgs) { Pshub.timeout_of(header, 5) } unless ms

      assert_equal ms / 1000.0, Pshub.timeout_of(header)
      assert_equal [ms / 1000.0, 0.5].min, Pshub.timeout_of(header, 0.5)
    end
    assert_raises(Pshub::InvalidArgs) { Pshub.timeout_of("\xff", 5) }
    assert_equal [2, nil], [Pshub.timeout_of(nil, 2), Pshub.timeout_of(nil)]
  end

  def test_payloads
    file = vectors("payloads.json")
    file["unchanged"].each do |text|
      # Ruby has no text that holds half of a surrogate pair.
      next assert_raises(Pshub::Payload::Problem) { Pshub::Payload.decode(text) } if text == '"\ud800"'

      # How a float is written is each language's own.
      assert_equal text.sub("1e+21", "1.0e+21"), Pshub::Payload.encode(Pshub::Payload.decode(text))
    end
    file["rewritten"].each do |each|
      decoded = Pshub::Payload.decode(each["text"])
      assert_equal JSON.parse(each["to"]), JSON.parse(Pshub::Payload.encode(decoded)), each["why"]
    end
    file["refused"].each do |each|
      # As a value of a message, which is one level deeper.
      text = each["why"] == "too deep" ? "[#{each['text']}]" : each["text"]
      assert_raises(Pshub::Payload::Problem, each["text"]) { Pshub::Payload.decode(text) }
    end
  end

  def test_values_that_are_not_json
    too_deep = 65.times.reduce(1) { |inner, _| [inner] }
    [Float::NAN, Float::INFINITY, Object.new, Time.now, "\xff", "\xff".b, { 1 => 2 }, { "a" => { __proto__: 1 } }, too_deep].each do |value|
      assert_raises(Pshub::Payload::Problem, value.inspect) { Pshub::Payload.encode(value) }
    end
    assert_equal '{"a":"b","c":[null,true,1.5]}', Pshub::Payload.encode({ a: :b, "c" => [nil, true, 1.5] })
    assert_equal "9007199254740993123", Pshub::Payload.encode(9_007_199_254_740_993_123)
  end

  def test_histograms
    file = vectors("histograms.json")
    file["buckets"].each { |value, bucket, _| assert_equal bucket, Pshub::Histogram.bucket_of(value) }
    of = ->(values) { values.each_with_object(Pshub::Histogram.new) { |value, sum| sum.record(value) } }
    file["cases"].each do |each|
      assert_equal each["histogram"], of[each["values"]].to_h, each["title"]
      one, other = each["values"].partition.with_index { |_, at| at.even? }.map(&of)
      one.add(other)
      assert_equal each["histogram"], one.to_h, each["title"]
    end
  end

  def test_cards
    file = vectors("cards.json")
    file["tasks"].each { |each| same(each, read_or_nil { Pshub::Cards.task(each["text"]) }) { |card| told_of_task(card) } }
    file["workers"].each do |each|
      same(each, read_or_nil { Pshub::Cards.worker(each["text"]) }) do |card|
        { "id" => card.id, "slots" => card.slots, "tasks" => card.tasks, "build" => card.build }
      end
    end
  end

  def read_or_nil
    yield
  rescue Pshub::Foreign::Unreadable
    nil
  end

  def same(each, card)
    each["card"] ? assert_equal(each["card"], yield(card), each["title"]) : assert_nil(card, each["title"])
  end

  def told_of_task(card)
    limit = ->(value) { value unless value == Float::INFINITY }
    { "task" => card.task, "queue" => card.queue, "timeoutMs" => (card.timeout_s * 1000).to_i, "idempotent" => card.idempotent,
      "keyed" => card.keyed, "args" => card.args, "maxPayloadBytes" => limit[card.max_payload_bytes],
      "maxBacklog" => limit[card.max_backlog] }
  end

  def test_measured
    file = vectors("measured.json")
    file["taskStats"].each do |each|
      stats = Pshub::TaskStats.new
      each["calls"].each { |call| call["times"].times { tell(stats, *call.values_at("task", "code", "status", "us", "from")) } }
      assert_equal each["tasks"], JSON.parse(stats.text)["tasks"], each["title"]
    end
    file["failures"].each do |each|
      recent = Pshub::RecentFailures.new
      each["failures"].each do |failed|
        request = Pshub::Request.new.tap { |one| one.id, one.task, one.from = failed.values_at("id", "task", "from") }
        recent.keep(request, *failed.values_at("at", "code", "message", "execUs"))
      end
      assert_equal each["published"], JSON.parse(recent.text), each["title"]
    end
  end

  def test_recent_failures_are_of_a_bounded_length
    failures = Pshub::RecentFailures.new
    refute_predicate failures, :changed?
    request = Pshub::Request.new
    500.times do |n|
      request.id, request.task = "x#{n}", "t#{n % 50}:1.0"
      failures.keep(request, 1, "TaskFailed", "\u0001" * 500, 1)
    end
    assert_predicate failures, :changed?
    text = failures.text
    assert_operator text.length, :<=, 131_072
    refute_predicate failures, :changed?
    told = JSON.parse(text)
    assert_equal ["t49:1.0", [10]], [told.keys.first, told.values.map(&:size).uniq]
  end

  def tell(stats, task, code, status, phases, from)
    return stats.expired(task, from) unless phases

    stats.ran(task, code, status, Pshub::Phases.read(phases), from)
  end
end
