import type { WorkerRow } from '../../contract.ts'
import { stateOf } from '../rows/workers.ts'
import { Badge } from './badge.tsx'

const states = {
  serving: { tone: 'good', text: 'serving', means: 'It claims requests.' },
  draining: {
    tone: 'warn',
    text: 'draining',
    means: 'It is stopping: it finishes its running requests and claims nothing new.',
  },
  lost: { tone: 'bad', text: 'lost', means: 'Its lease expired: it crashed or is cut off from Redis.' },
} as const

export const WorkerState = ({ row }: { row: WorkerRow }) => {
  const { tone, text, means } = states[stateOf(row)]
  return (
    <Badge tone={tone} title={means}>
      {text}
    </Badge>
  )
}
