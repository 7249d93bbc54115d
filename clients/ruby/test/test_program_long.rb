# frozen_string_literal: true

require_relative "helper"

# Messages with random faults.
class TestProgramLong < PshubTest
  PIECES = ["\\ud800", "\\u0000", "1e999", "//", '"', "{", "[", "-", '"losses":1e9,'].freeze

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
