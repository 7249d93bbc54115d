import { namespace } from '../session/access.ts'
import { Command } from './command.tsx'

/** Names that need no quoting in any shell. */
const plain = /^[\w.-]+$/

/** How to start a worker that this registry sees, where PSHUB_REDIS names its Redis. */
export const WorkerCommand = ({ queue = 'default' }: { queue?: string }) => {
  const own = namespace.value !== undefined && namespace.value !== 'pshub' && plain.test(namespace.value)
  const parts = [
    'pshub worker ./tasks.mjs',
    `--queue ${plain.test(queue) ? queue : 'default'}`,
    ...(own ? [`--namespace ${namespace.value}`] : []),
  ]
  return <Command>{parts.join(' ')}</Command>
}
