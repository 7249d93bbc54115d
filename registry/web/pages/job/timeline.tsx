import type { JobDetail } from '../../../job-contract.ts'
import { redisNowMs, turn } from '../../live/shown.ts'
import { Text } from '../../parts/text.tsx'
import { type Stretch, stretchesOf } from '../../rows/job-times.ts'
import { clock, dateTime, ms } from '../../text/figures.ts'
import { zoneName } from '../../text/zone.ts'

/** What a job did when: each wait and each try, drawn to scale, with the same in words and numbers beside it. */
export const Timeline = ({ job }: { job: JobDetail }) => {
  turn.value
  const stretches = stretchesOf(job, redisNowMs())
  const [first] = stretches
  if (!first) return null
  const last = stretches.at(-1)!
  const whole = drawnMs(first, last)
  const isDay = dateTime(first.fromMs).slice(0, 10) === dateTime(last.toMs).slice(0, 10)
  const moment = (atMs: number) => (isDay ? clock(atMs) : dateTime(atMs))
  return (
    <section class="part" aria-labelledby="job-times">
      <div class="part-head">
        <h2 id="job-times">Timeline</h2>
        <span class="quiet">
          {ms(last.toMs - first.fromMs)} {wholeOf(last)}, from {dateTime(first.fromMs)} {zoneName()}
        </span>
      </div>
      <ol class="timeline panel">
        {stretches.map((stretch, at) => (
          <li key={at}>
            <span class="timeline-name">
              {stretch.name}
              {stretch.end !== '' && ', '}
              {stretch.end !== '' && (
                <span class={stretch.tone === 'bad' ? 'failing' : 'quiet'}>
                  <Text>{stretch.end}</Text>
                </span>
              )}
            </span>
            <span class="timeline-track" aria-hidden="true">
              <span
                data-kind={stretch.kind}
                data-tone={stretch.tone}
                data-open={stretch.isToCome}
                style={{
                  // What is short, and at the end, stays inside.
                  left: `min(${((stretch.fromMs - first.fromMs) / whole) * 100}%, 100% - 3px)`,
                  width: `${(Math.min(stretch.toMs - stretch.fromMs, first.fromMs + whole - stretch.fromMs) / whole) * 100}%`,
                }}
              />
            </span>
            <span class="timeline-when quiet">
              <time dateTime={new Date(stretch.fromMs).toISOString()}>{moment(stretch.fromMs)}</time>
            </span>
            <span class="timeline-long">
              {ms(stretch.toMs - stretch.fromMs)}
              {stretch.isOpen && !stretch.isToCome && ' so far'}
              {stretch.isToCome && ' in all'}
            </span>
          </li>
        ))}
      </ol>
      <p class="quiet timeline-key">
        <span>
          <span class="swatch" data-kind="wait" aria-hidden="true" /> waited
        </span>
        <span>
          <span class="swatch" data-kind="run" aria-hidden="true" /> running
        </span>
        {stretches.some(({ tone }) => tone === 'bad') && (
          <span>
            <span class="swatch" data-kind="run" data-tone="bad" aria-hidden="true" /> and failed
          </span>
        )}
        {stretches.some(({ kind }) => kind === 'both') && (
          <span>
            <span class="swatch" data-kind="both" aria-hidden="true" /> waited and ran: start unknown
          </span>
        )}
        {stretches.some(({ isToCome }) => isToCome) && (
          <span>
            <span class="swatch" data-kind="wait" data-open="true" aria-hidden="true" /> planned, not to scale
          </span>
        )}
      </p>
    </section>
  )
}

const wholeOf = ({ isOpen, isToCome }: Stretch): string => (isToCome ? 'until it is due' : isOpen ? 'so far' : 'in all')

/** What the bars stand for in all: what is still to come has a third of it at the most, so that what was can be seen. */
const drawnMs = (first: Stretch, last: Stretch): number => {
  const wholeMs = Math.max(1, last.toMs - first.fromMs)
  const pastMs = last.fromMs - first.fromMs
  return last.isToCome && pastMs > 0 ? Math.min(wholeMs, pastMs * 1.5) : wholeMs
}
