# Enqueues so many blank jobs with the system of the first argument; talks as enqueue.mjs does.
require 'json'

require_relative "systems/#{ARGV[0]}"

say = lambda do |message|
  $stdout.puts(message.to_json)
  $stdout.flush
end

enqueue(Integer(ARGV[2]))
say.call({ warm: true })
$stdin.gets
started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
enqueue(Integer(ARGV[1]))
say.call({ ms: (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started) * 1000 })
