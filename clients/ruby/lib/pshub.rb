# frozen_string_literal: true

# Calls tasks in worker processes of any language over Redis and waits for their results; and a worker for Ruby.
module Pshub
end

require_relative "pshub/hub/hub"
require_relative "pshub/http/problem"
require_relative "pshub/worker/worker"
require_relative "pshub/rails/railtie" if defined?(Rails::Railtie)
