import type { Progress } from 'pshub'
import { count } from '../text/figures.ts'
import { Text } from './text.tsx'

/** How far a handler says that it is. */
export const ProgressView = ({ progress: { done, total, message } }: { progress: Progress }) => (
  <span class="told-progress">
    {total !== undefined && <progress value={Math.min(done, total)} max={Math.max(total, 1)} aria-label="Progress" />}{' '}
    {count(done)}
    {total !== undefined && <span class="quiet"> of {count(total)}</span>}
    {message !== undefined && (
      <>
        {' '}
        <Text>{message}</Text>
      </>
    )}
  </span>
)
