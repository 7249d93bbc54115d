import { inAddress } from '../../address/in-address.ts'
import { at, jobPath, keyPath } from '../../address/paths.ts'
import { dateTime } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import { zoneName } from '../../text/zone.ts'
import type { Done } from './state.ts'

/** What became of it, with the way to it. */
export const DoneLine = ({ done }: { done: Done | undefined }) => (
  <p role="status" class={done ? (done.kind === 'failed' ? 'notice problem' : 'notice') : 'visually-hidden'}>
    {done && <Text done={done} />}
  </p>
)

const Text = ({ done }: { done: Done }) => {
  if (done.kind === 'failed') return <>{printable(done.message)}</>
  if (done.kind === 'scheduled') {
    const { name, nextMs } = done.schedule
    return (
      <>
        Scheduled as <a href={at(`schedules?q=${inAddress(name)}`)}>{printable(name)}</a>
        {nextMs === undefined ? '; it is paused.' : `; next run ${dateTime(nextMs)} ${zoneName()}.`}
      </>
    )
  }
  if (done.kind === 'merged') {
    const { task, queue } = done.answer
    return (
      <>
        Enqueued: it merges with the waiting payloads of{' '}
        <a href={keyPath({ task, key: done.key, queue })}>key {printable(done.key)}</a> in queue {printable(queue)}.
      </>
    )
  }
  const { answer, isTracked } = done
  const name = `job ${answer.id}`
  return (
    <>
      {answer.isTwin ? 'A duplicate of ' : 'Enqueued as '}
      {isTracked ? <a href={jobPath(answer.id, { queue: answer.queue })}>{name}</a> : name} in queue{' '}
      {printable(answer.queue)}
      {isTracked ? '.' : '; it is not tracked, so it has no record after it has run.'}
    </>
  )
}
