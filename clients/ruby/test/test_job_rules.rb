# frozen_string_literal: true

require_relative "helper"

# Rules for jobs that are the same in all languages, with what the JavaScript client makes of these.
class TestJobRules < Minitest::Test
  include Support

  DELAYS = [
    ["exponential", 1, 0, 500], ["exponential", 1, 1, 1000], ["exponential", 3, 0.25, 2500], ["exponential", 8, 0.123, 71_872],
    ["exponential", 17, 0.5, 49_152_000], ["exponential", 40, 1, 86_400_000], ["polynomial", 1, 0, 15_000],
    ["polynomial", 1, 1, 45_000], ["polynomial", 3, 0.5, 76_000], ["polynomial", 25, 0.3333, 332_040_975], [7, 9, 0.5, 7],
    [[1000, 5000], 1, 0, 1000], [[1000, 5000], 2, 0, 5000], [[1000, 5000], 9, 0, 5000]
  ].freeze

  def test_delays
    DELAYS.each { |*given, expected| assert_equal expected, Pshub::Backoff.delay_after(*given), given.inspect }
    spread = Array.new(100) { Pshub::Backoff.delay_after("exponential", 2) }
    assert_includes 1000..2000, spread.min
    assert_operator spread.uniq.size, :>, 10
  end

  def test_the_part_of_a_job_has_no_bracket_in_its_texts
    {
      { "retries" => 5, "backoff" => "exponential", "keep" => 60_000 } => '{"retries":5,"backoff":"exponential","keep":60000}',
      { "unique" => 't:1.0:{a}[b]"\\}', "uniqueMs" => 1000, "until" => "started" } =>
        '{"unique":"t:1.0:\u007ba\u007d\u005bb\u005d\"\\\\\u007d","uniqueMs":1000,"until":"started"}',
      { "unique" => "é💚\u2028\u007f\b\n" } => %({"unique":"é💚\u2028\u007f\\b\\n"}),
      { "chain" => "j", "step" => 1, "steps" => [%w[q t:1.0], %w[r u:1.0]] } =>
        '{"chain":"j","step":1,"steps":[["q","t:1.0"],["r","u:1.0"]]}',
      { "unique" => "\xff" } => %({"unique":"\ufffd"})
    }.each { |part, text| assert_equal text, Pshub::JobPart.text(part) }
  end

  def test_failures
    {
      "a {b} [c] \"d\" \\ \n é" => '"code":"TaskFailed","message":"a \u007bb\u007d \u005bc\u005d \"d\" \\\\ \n é"',
      "#{'x' * 499}{}" => %("code":"TaskFailed","message":"#{'x' * 499}\\u007b")
    }.each { |message, text| assert_equal text, Pshub::JobPart.failure_text("TaskFailed", message) }
  end

  def test_the_digest_of_arguments
    numbers = '{"a":1e21,"b":1e-7,"c":123456789012345680000,"d":0.000001,"e":-0,"f":9007199254740993,"g":1.5e300,"h":100,"i":-12.5e-3}'
    {
      "{}" => "RBNvo1WzZ4oRRq0W9-hknp", '{"b":[1.0,2],"a":1}' => "i6pzGYRwx7tMPOFCqP1lGv", numbers => "WLFbA9u_EtYYQDoj8SZhXl",
      '{"\u20ac":1,"\r":2,"\ud83d\ude00":3,"\ufb33":4,"1":5,"ö":6,"\u0080":7}' => "AUztPamug9rTBfL0cnadRv",
      '["}",{"x":null,"y":true,"z":[]}]' => "uy7mEDqFPRlk00CnuMusGS", '"</script>\u2028\u007f/"' => "Rr7UfPeUX_EiE63VnN90yt",
      "1e400" => "dCNOmK_nSY-12vHzasLXis"
    }.each { |json, digest| assert_equal digest, Pshub::Canonical.digest(json), json }
    { 1e21 => "1e+21", 1e-7 => "1e-7", 0.000001 => "0.000001", 123_456_789_012_345_680_000.0 => "123456789012345680000", -0.0 => "0",
      1.5e300 => "1.5e+300", -0.0125 => "-0.0125", 333_333_333.333_333_3 => "333333333.3333333", 4.5 => "4.5", 1e23 => "1e+23",
      5e-324 => "5e-324" }.each { |number, text| assert_equal text, Pshub::Canonical.number(number) }
  end

  def following(text, result, queue)
    Pshub::Steps.following(Pshub::Message.decode_request(text, nil, Pshub::Keys.new("pshub")), result, queue)
  end

  def test_what_follows_is_spliced_and_not_encoded_again
    first = '{"at":1,"ttl":0,"id":"c","job":{"keep":3600000,"chain":"c","step":1,"steps":[["q","a:1.0"],["q","b:1.0"]]},"task":"a:1.0",' \
            '"args":{},"then":[{"id":"c-2","task":"b:1.0","queue":"q","args":"{\"x\": 1.0}","job":{"keep":1.0,"backoff":[5],"chain":"c",' \
            '"unique":"{"},"pass":"got"},{"id":"c-3","task":"c:1.0","queue":"r","args":"[]","ttl":5}],"from":"shop",' \
            '"traceparent":"00-1","tracestate":"v=1"}'
    expected = '"ttl":0,"id":"c-2","job":{"tries":0,"errors":[],"backoff":[5],"keep":1,"unique":"\u007b","chain":"c"},"task":"b:1.0",' \
               '"args":{"got":{"n":9007199254740993},"x": 1.0},"then":[{"id":"c-3","task":"c:1.0","queue":"r","args":"[]","ttl":5}],' \
               '"from":"shop","traceparent":"00-1","tracestate":"v=1"}'
    assert_equal expected, following(first, '{"n":9007199254740993}', "q")
    head = '{"at":1,"ttl":0,"id":"c","task":"a:1.0"'
    {
      [',"then":[{"id":"c-2","task":"b:1.0","queue":"r","args":" { } ","ttl":7,"pass":"a\"b"}]', "[ ]", "q"] =>
        'r "ttl":7,"id":"c-2","task":"b:1.0","args":{"a\"b":[ ]} }',
      [',"then":[{"id":"c-2","task":"b:1.0","queue":"r","args":"[1]","pass":"x"}]', "1", "r"] =>
        '"ttl":0,"id":"c-2","task":"b:1.0","args":[1]}',
      [',"then":[{"id":"c-2","task":"b:1.0","queue":"no queue","args":"{}"}]', "1", "r"] => "", ["", "1", "r"] => ""
    }.each { |(behind, result, queue), message| assert_equal message, following("#{head}#{behind}}", result, queue), behind }
  end

  def shape(keyed: nil, **options) = Pshub::EnqueueOptions.shape("t:1.0", "{}", options, keyed)

  def test_options_of_a_job_as_they_travel
    assert_equal [nil, 0], shape(queue: "q", timeout_ms: 5)
    assert_equal [nil, 7], shape(expires_ms: 7)
    assert_equal [{ "keep" => 3_600_000 }, 0], shape(tracked: true)
    assert_equal [nil, 0], shape(tracked: false, unique: false, delay_ms: 0, priority: "normal")
    assert_equal [{ "retries" => 0, "backoff" => [1], "delay" => 3, "priority" => "low", "keep" => 9 }, 1],
                 shape(retries: 0, backoff: [1], delay_ms: 2.6, priority: :low, keep_result_ms: 9, expires_ms: 0.2)
    assert_equal [{ "keep" => 3_600_000, "unique" => "t:1.0:x", "uniqueMs" => 5, "until" => "started" }, 0],
                 shape(unique: { id: "x", until: :started, for_ms: 5 })
    assert_equal 86_400_000 + 60_000, shape(unique: true, delay_ms: 60_000).first["uniqueMs"]
    assert_equal({ "due" => 1_795_220_163_702 }, shape(at: Time.at(1_795_220_163, 702, :millisecond)).first)
  end

  def test_options_of_a_task_that_cannot_work_are_named
    { { job_timeout_ms: 0 } => /job_timeout_ms must be above 0/, { retries: -1 } => /retries must be a whole number/,
      { backoff: "never" } => /backoff must be 'exponential'.*or a proc/ }.each do |options, message|
      error = assert_raises(Pshub::ConfigError) { Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {}, **options) }
      assert_match message, error.message
    end
    task = Pshub::Task.new("t:1.0", nil, nil, "", 5, false, -> {})
    error = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [task], slots: 2, job_slots: 3) }
    assert_equal "job_slots is 3, but this worker has 2 slots in all.", error.message
    error = assert_raises(Pshub::ConfigError) { Pshub::Worker.new(tasks: [task], queue: "forward.billing") }
    assert_equal "Queue forward.billing is that of a forwarder: pshub forward billing.", error.message
  end

  def test_the_arguments_of_a_job_are_measured_without_what_it_carries
    executor = Pshub::Executor.new({}, Pshub::SlotThreads.new(1), 1024, nil, nil)
    large = ->(**more) { executor.send(:too_large?, Pshub::Message.decode_request(JSON.generate(more), "x", Pshub::Keys.new("pshub"))) }
    steps = [{ "args" => "x" * 9000 }]
    assert_equal([true, false, true], [large[task: "t:1.0", args: "x" * 4000], large[task: "t:1.0", args: "x", then: steps],
                                       large[task: "t:1.0", args: "x" * 4000, then: steps]])
  end
end
