# frozen_string_literal: true

# For worker processes.
task("add:1.0") { |args| args["x"] + 2 }
task("die:1.0", timeout: 20) { Process.kill("KILL", Process.pid) && sleep }
task("merge:1.0", keyed: "merged", batch: 5) { Process.kill("KILL", Process.pid) && sleep }
task("again:1.0", timeout: 20, idempotent: true) { |args, ctx| ctx.wait(args["ms"] / 1000.0) ? raise("told to stop") : Process.pid }
task("stubborn:1.0", timeout: 20) { |args| sleep(args["ms"] / 1000.0) && "done" }
task "busy:1.0", timeout: 20 do |args|
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (args["ms"] / 1000.0)
  turns = 0
  turns += 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  turns
end
