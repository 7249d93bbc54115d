# frozen_string_literal: true

require "pshub"

# One for the process: all threads share it, and a forked child of Puma gets connections of its own. It ends with the process.
HUB = Pshub::Hub.new(name: "rails")
