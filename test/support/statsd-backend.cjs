// A backend of the statsd daemon: hands over each flush as one line of JSON on stdout.
exports.init = (_startedAt, _config, emitter) => {
  emitter.on('flush', (_time, { counters, timers, timer_counters: counts, gauges }) => {
    process.stdout.write(`${JSON.stringify({ counters, timers, counts, gauges })}\n`)
  })
  return true
}
