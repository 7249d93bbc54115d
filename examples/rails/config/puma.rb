# frozen_string_literal: true

# Each request that waits for a task has one of them.
threads 8, 8
port ENV.fetch("PORT", 3000), "127.0.0.1"
