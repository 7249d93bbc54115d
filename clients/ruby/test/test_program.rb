# frozen_string_literal: true

require_relative "helper"

# The command, and what hostile messages must not do.
class TestProgram < PshubTest
  def run_worker(*arguments, code: nil)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "tasks.rb")
      File.write(file, code) if code
      command = [*WorkerProcess::COMMAND[0..-2], *arguments, *(file if code)]
      output, status = Open3.capture2e({ "PSHUB_REDIS" => server.url }, *command)
      return [output, status.exitstatus]
    end
  end

  def test_wrong_usage
    assert_equal 2, run_worker.last
    assert_match(/there is no file nix.rb/, run_worker("nix.rb").first)
    assert_match(/invalid option: --slits/, run_worker("--slits", "1").first)
    assert_match(/declares no task/, run_worker(code: "1").first)
    output, status = run_worker("--slots", "0", code: 'task("a:1.0") { 1 }')
    assert_equal [true, 2], [output.include?("option slots must be a whole number"), status]
  end

  def test_a_file_that_fails_while_it_is_loaded
    output, status = run_worker(code: 'raise "no"')
    line = JSON.parse(output)
    assert_equal [1, "error", "a file failed while it was loaded"], [status, line["level"], line["msg"]]
    assert_match(/RuntimeError: no/, line["stack"])
  end

  def test_help_names_all_options
    output, status = run_worker("--help")
    assert_equal 0, status
    %w[redis queue slots namespace grace lease max-payload-bytes max-backlog statsd].each { |name| assert_includes output, "--#{name} " }
  end

  def test_a_signal_shows_where_each_thread_is
    worker = worker_process
    called = Thread.new { hub.call("stubborn:1.0", { "ms" => 3000 }) }
    eventually { server.client.hvals("pshub:stats").any? { |stats| stats.include?('"busy":1') } }
    worker.signal("TTIN")
    eventually { worker.said.match?(/^Thread pshub-slot \(sleep\):\n(  .*\n)*  .*tasks\.rb:\d+/) }
    assert_equal "done", called.value
    worker.signal("TERM")
    assert_equal 0, worker.wait
  end

  # Whatever somebody pushes, it is a request or it is malformed.
  def test_messages_with_random_faults
    random = Random.new(1)
    keys = Pshub::Keys.new("pshub")
    texts = JSON.parse(File.read(File.join(ROOT, "clients/vectors/requests.json")), max_nesting: 0)["cases"].map { |each| each["text"] }
    read = 0
    4000.times do
      text = spoilt(texts.sample(random: random).b, random)
      begin
        Pshub::Payload.compact(Pshub::Message.decode_request(text, nil, keys).args)
        read += 1
      rescue Pshub::Message::Malformed, JSON::GeneratorError
        # 1e999 is read as infinity, which cannot be written.
        next
      ensure
        Pshub::Message.decode_reply(text)
      end
      begin
        Pshub::Cards.task(text)
      rescue Pshub::Foreign::Unreadable
        next
      end
    end
    assert_operator read, :>, 100
  end

  PIECES = ["\\ud800", "\\u0000", "1e999", "//", '"', "{", "[", "-", '"losses":1e9,'].freeze

  def spoilt(text, random)
    random.rand(1..3).times do
      at = random.rand(text.bytesize + 1)
      case random.rand(3)
      when 0 then text.setbyte(at, random.rand(256)) if at < text.bytesize
      when 1 then text.insert(at, PIECES.sample(random: random).b)
      else text.slice!(at, random.rand(5))
      end
    end
    text
  end
end
