# frozen_string_literal: true

require "pshub"

# One hub per process: all threads share it. A forked child of Puma opens its own connections.
HUB = Pshub::Hub.new(name: "rails")
