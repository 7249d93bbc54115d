# frozen_string_literal: true

require "json"
require "monitor"

# Calls tasks in worker processes of any language over Redis and waits for their results; and such a worker for Ruby.
module Pshub
end

%w[
  version errors payload keys names message clock callers stats measures forecast retries events log statsd config schema link connection scripts queue
  foreign call cards catalogue pausing rights fitness resolver routes outbox inbox core hub task slots executor registrar
  roles/settle roles/fetch roles/pause roles/beat roles/reconcile roles/adopt roles/unserved roles/intake crew worker
].each { |name| require_relative "pshub/#{name}" }
