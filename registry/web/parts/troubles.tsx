import type { QueueRow } from '../../contract.ts'
import { queuePath } from '../address/paths.ts'
import { troublesOf } from '../rows/queue-state.ts'
import { Text, WrappedText } from './text.tsx'

/** What is wrong with queues, and what to do; with their names where the page is not theirs. */
export const QueueTroubles = ({ rows, isNamed = false }: { rows: readonly QueueRow[]; isNamed?: boolean }) => (
  <>
    {rows.flatMap(row =>
      troublesOf(row).map(({ kind, tone, text, remedy }) => (
        <p key={`${row.queue} ${kind}`} class={`note ${tone} wrap`}>
          {isNamed && (
            <>
              Queue{' '}
              <a href={queuePath(row.queue)}>
                <Text>{row.queue}</Text>
              </a>
              :{' '}
            </>
          )}
          <WrappedText>{`${text} ${remedy}`}</WrappedText>
        </p>
      )),
    )}
  </>
)
