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
  waiting: 'It waits for an idle slot.',
  running: 'A worker runs it.',
  scheduled: 'It is scheduled for later.',
  retrying: 'It failed and will be retried.',
  pending: 'The steps before it have not ended.',
  dead: 'Its retries are used up. You can retry or delete it.',
  expired: 'It expired before it ran.',
  cancelled: 'Somebody cancelled it.',
  done: 'It succeeded.',
}

/** The state of a job. */
export const JobBadge = ({ state }: { state: string }) => (
  <Badge tone={tones[state] ?? 'quiet'} title={titles[state] ?? ''}>
    {printable(state)}
  </Badge>
)
