import { jsonText } from '../../json/exact.ts'
import { ProgressView } from '../../parts/progress.tsx'
import { count as counted } from '../../text/figures.ts'
import { printableLines } from '../../text/printable.ts'
import type { Heard } from '../run/state.ts'

/** What a task yields, as it comes: texts as one text, all else one line each. */
export const Chunks = ({ heard: { chunks, count, progress }, isRunning }: { heard: Heard; isRunning: boolean }) => {
  const isText = chunks.every(chunk => typeof chunk === 'string')
  const text = isText ? chunks.join('') : chunks.map(chunk => jsonText(chunk)).join('\n')
  return (
    <section class="heard" aria-label="Chunks">
      {isRunning && progress && <ProgressView progress={progress} />}
      {count > 0 && (
        <>
          <p class="quiet">
            {count === 1 ? '1 chunk' : `${counted(count)} chunks`}
            {count > chunks.length && `; these are the last ${counted(chunks.length)}`}
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre class="raw" tabIndex={0}>
            {printableLines(text)}
          </pre>
        </>
      )}
    </section>
  )
}
