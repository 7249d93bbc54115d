import { notice } from '../live/shown.ts'
import { printable } from '../text/printable.ts'

/** What the service says to all who look: that a task file does not load, for one. Lines are as they were written. */
export const NoticeBanner = () =>
  notice.value === undefined ? null : (
    <div class="banner notice" role="alert">
      {notice.value.split('\n').map((line, at) => (
        <div key={at}>{printable(line)}</div>
      ))}
    </div>
  )
