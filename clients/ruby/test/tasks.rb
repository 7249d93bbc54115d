# frozen_string_literal: true

# For worker processes. A handler that is to last goes on until the file exists which the caller names.
WAIT = lambda { |path|
  sleep 0.01 until File.exist?(path)
  "done"
}
task("add:1.0") { |args| args["x"] + 2 }
task("die:1.0", timeout: 60) { Process.kill("KILL", Process.pid) && sleep }
task "again:1.0", timeout: 60, idempotent: true do |args, ctx|
  ctx.wait(0.01) until ctx.cancelled? || File.exist?(args["until"])
  ctx.cancelled? ? raise("told to stop") : Process.pid
end
task("stubborn:1.0", timeout: 60) { |args| WAIT.call(args["until"]) }
task "busy:1.0", timeout: 60 do |args|
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (args["ms"] / 1000.0)
  turns = 0
  turns += 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  turns
end
