# frozen_string_literal: true

module Pshub
  VERSION = "0.1.0"
end
