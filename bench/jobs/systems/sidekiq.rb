# Sidekiq, as its own command runs it.
require 'sidekiq'
require_relative 'drained'

Sidekiq.logger.level = Logger::ERROR
# Older versions with newer redis gems would be measured by the warnings they print.
Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)

class Blank
  include Sidekiq::Worker

  sidekiq_options queue: 'bench', retry: true

  def perform(_args)
    Drained.job
  end
end

# The chunks that Sidekiq's documentation recommends.
def enqueue(count)
  (0...count).each_slice(1000) do |part|
    Sidekiq::Client.push_bulk('class' => Blank, 'args' => part.map { |n| [{ 'n' => n }] })
  end
end
