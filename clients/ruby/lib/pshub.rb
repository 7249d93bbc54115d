# frozen_string_literal: true

require "json"
require "monitor"

# Calls tasks in worker processes of any language over Redis and waits for their results; and such a worker for Ruby.
module Pshub
end

%w[
  wire/version wire/errors wire/payload wire/keys wire/names wire/message wire/clock figures/callers figures/task_stats worker/measures hub/forecast
  hub/retries figures/events outlets/log outlets/statsd settings/read task/schema redis/client redis/connection queue/scripts queue/queue wire/foreign
  hub/call catalogue/cards catalogue/catalogue queue/pause redis/rights worker/roles/inspect hub/resolver hub/routes hub/outbox hub/inbox hub/dispatch
  hub/hub task/task worker/slots worker/executor catalogue/registrar worker/roles/settle worker/roles/fetch worker/roles/pause worker/roles/beat
  worker/roles/reconcile worker/roles/adopt worker/unserved worker/roles/intake worker/crew worker/worker
].each { |name| require_relative "pshub/#{name}" }
