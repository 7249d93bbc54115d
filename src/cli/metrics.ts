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
    'Prints the current figures of the registry and the queues in the text format of Prometheus. Run it in one place: that ' +
      'is enough for any number of workers and callers.',
  ],
  arity: { min: 0, max: 0 },
  options: [],
  examples: [
    { line: 'pshub metrics', about: 'all of them' },
    {
      line: 'pshub metrics > pshub.prom.tmp && mv pshub.prom.tmp pshub.prom',
      about: "for node_exporter's textfile collector, from cron or a timer",
    },
  ],
  run,
}
