import { redisNowMs, turn } from '../live/shown.ts'
import { ago, dateTime, span } from '../text/figures.ts'
import { zoneName } from '../text/zone.ts'

interface TimeProps {
  /** On Redis' clock, milliseconds since 1970; undefined: not known. */
  atMs: number | undefined
}

const isMoment = (atMs: number | undefined): atMs is number =>
  atMs !== undefined && atMs > 0 && !Number.isNaN(new Date(atMs).getTime())

const Time = ({ atMs, text }: { atMs: number; text: string }) => (
  <time dateTime={new Date(atMs).toISOString()} title={`${dateTime(atMs)} ${zoneName()}`}>
    {text}
  </time>
)

/** How long ago something was; counts on by itself. */
export const Ago = ({ atMs }: TimeProps) => {
  turn.value
  return isMoment(atMs) ? <Time atMs={atMs} text={ago(redisNowMs() - atMs)} /> : <>–</>
}

/** How long something has gone on. */
export const Since = ({ atMs }: TimeProps) => {
  turn.value
  return isMoment(atMs) ? <Time atMs={atMs} text={span(redisNowMs() - atMs)} /> : <>–</>
}

/** How long it is until something. */
export const Until = ({ atMs }: TimeProps) => {
  turn.value
  if (!isMoment(atMs)) return <>–</>
  const leftMs = atMs - redisNowMs()
  return <Time atMs={atMs} text={leftMs <= 0 ? 'now' : `in ${span(leftMs)}`} />
}

/** How long ago a job was enqueued; of one that came to wait for its time, when it is due. */
export const EnqueuedOrDue = ({ atMs }: TimeProps) => {
  turn.value
  return isMoment(atMs) && atMs > redisNowMs() ? (
    <>
      due <Until atMs={atMs} />
    </>
  ) : (
    <Ago atMs={atMs} />
  )
}

/** A moment itself, and how long ago it was. */
export const Moment = ({ atMs }: TimeProps) => {
  turn.value
  if (!isMoment(atMs)) return <>–</>
  const ageMs = redisNowMs() - atMs
  return (
    <>
      {dateTime(atMs)} {zoneName()}{' '}
      <span class="quiet">({ageMs > -500 ? ago(Math.max(0, ageMs)) : `in ${span(-ageMs)}`})</span>
    </>
  )
}
