import type { RefObject } from 'preact'
import { us } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import type { FinishedRun } from '../run/finished.ts'

type Place = RefObject<HTMLElement | null>

/** How the last run ended, beside the button that starts the next, wherever the page is scrolled to. */
export const LastRun = ({ run: { outcome, tookMs }, onShow }: { run: FinishedRun; onShow(): void }) => (
  <p class="last-run" data-outcome={outcome.ok ? 'ok' : 'failed'}>
    <span aria-hidden="true">{outcome.ok ? '✓' : '✕'}</span>{' '}
    {outcome.ok ? 'Result' : printable(outcome.failure.code).slice(0, 60)} after {us(tookMs * 1000)}{' '}
    <button type="button" class="link" onClick={onShow}>
      Show it
    </button>
  </p>
)

/** Whether the head of the outcome can be seen; what sticks to the bottom of the window may cover its last lines. */
export const isInView = ({ current }: Place): boolean => {
  const { top = 0 } = current?.getBoundingClientRect() ?? {}
  return top >= 0 && top < innerHeight * 0.7
}

/** Goes to the outcome, with the focus too. */
export const showOutcome = ({ current }: Place): void => {
  const head = current?.querySelector<HTMLElement>('h3')
  head?.focus({ preventScroll: true })
  head?.scrollIntoView({ block: 'start' })
}
