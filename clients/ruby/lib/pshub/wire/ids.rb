# frozen_string_literal: true

require "securerandom"

module Pshub
  # Ids of requests, hubs and workers.
  module Ids
    # 128 random bits: they must not be guessable, and a forked process must not repeat its parent's.
    # None begins with a dash, which a command line takes for an option.
    def self.make = SecureRandom.urlsafe_base64(16).sub(/\A-/, "A")
  end
end
