# frozen_string_literal: true

require_relative "helper"
require "net/http"

# Probes of a worker, over HTTP.
module Probing
  READY = [200, { "ready" => true }].freeze
  LIVE = [200, { "live" => true }].freeze

  def probe(port, path, patience: 60)
    Net::HTTP.start("127.0.0.1", port, open_timeout: patience, read_timeout: patience, max_retries: 0) do |http|
      response = http.get(path)
      [response.code.to_i, JSON.parse(response.body)]
    end
  end

  # nil where nobody answers.
  def reached(port, path)
    probe(port, path)
  rescue SystemCallError, EOFError
    nil
  end
end
