import { printable } from '../text/printable.ts'
import { Badge, type Tone } from './badge.tsx'

const tones: Record<string, Tone> = {
  running: 'good',
  done: 'good',
  retrying: 'warn',
  expired: 'warn',
  cancelled: 'warn',
  dead: 'bad',
}

const titles: Record<string, string> = {
  waiting: 'It waits for a slot of a worker.',
  running: 'A worker runs it.',
  scheduled: 'It waits for its time.',
  retrying: 'It failed, and waits for its next try.',
  pending: 'The steps before it have not ended.',
  dead: 'It was given up, and is kept until somebody looks.',
  expired: 'It was not wanted any more when its turn came.',
  cancelled: 'Somebody cancelled it.',
  done: 'It succeeded.',
}

/** The state of a job. */
export const JobBadge = ({ state }: { state: string }) => (
  <Badge tone={tones[state] ?? 'quiet'} title={titles[state] ?? ''}>
    {printable(state)}
  </Badge>
)
