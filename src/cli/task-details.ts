import type { Overview, TaskOverview } from '../overview.ts'
import { formatDuration } from './duration.ts'
import type { Sink } from './output.ts'
import { printable, printableJson } from './printable.ts'

/** Writes all that the registry says of one task. */
export const writeTask = (task: TaskOverview, { workers }: Overview, sink: Sink): void => {
  const providers = workers.filter(({ id }) => task.workers.includes(id))
  const served = providers.map(({ host, pid }) => printable(`${host}/${pid}`)).join(', ')
  const fields: [string, string][] = [
    ['queue', printable(task.queue)],
    ['live workers', providers.length === 0 ? 'none: a call fails with NoWorkers' : `${providers.length}: ${served}`],
    ['timeout', formatDuration(task.timeoutMs)],
    [
      'idempotent',
      task.idempotent ? 'yes: run again elsewhere when its worker dies' : 'no: not run again when its worker dies',
    ],
  ]
  sink.line(sink.paint('bold', printable(task.task)))
  for (const line of task.description.trim().split(/\r?\n/)) if (line.trim()) sink.line(`  ${printable(line)}`)
  sink.line()
  for (const [name, value] of fields) sink.line(`  ${name.padEnd(12)}  ${value}`)
  if (task.conflict) {
    sink.line(`  ${sink.paint('yellow', 'warning')}       live workers declare it with different schemas; shown is one`)
  }
  writeSchema('arguments', task.args, sink)
  writeSchema('result', task.result, sink)
}

const writeSchema = (title: string, schema: unknown, sink: Sink): void => {
  sink.line()
  const lines = schema === undefined ? ['any JSON'] : printableJson(schema, 2).split('\n')
  sink.line(`${title}:`)
  for (const line of lines) sink.line(`  ${line}`)
}
