import { prometheusText } from '../outlets/prometheus.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { readRegistry } from './registry.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const settings = settingsOf('hub', metricsCommand, invocation, 'silent')
  const overview = await readRegistry(settings)
  for (const line of prometheusText(overview).split('\n').slice(0, -1)) invocation.output.out.line(line)
  return exitCodes.ok
}

export const metricsCommand: Command = {
  name: 'metrics',
  usage: 'metrics',
  summary: 'print metrics for Prometheus once',
  about: [
    'Prints the current figures of the registry and the queues in the text format of Prometheus, for you to look at. ' +
      'Do not feed them to Prometheus: counters are the sum of what live workers counted, so they fall when a worker ' +
      'leaves. Let Prometheus scrape /metrics of pshub registry instead.',
  ],
  arity: { min: 0, max: 0 },
  options: [],
  examples: [
    { line: 'pshub metrics', about: 'all of them' },
    { line: 'pshub metrics | grep ^pshub_queue_backlog', about: 'one metric, of each queue' },
  ],
  run,
}
