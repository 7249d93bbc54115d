import { ms } from '../../text/figures.ts'
import { histogramOf } from './histogram.ts'

/** How the times of many runs spread: a table whose counts are drawn as bars. */
export const HistogramView = ({ timesMs }: { timesMs: readonly number[] }) => {
  const bins = histogramOf(timesMs)
  const most = Math.max(1, ...bins.map(({ count }) => count))
  return (
    <table class="histogram">
      <caption>Times of successful runs</caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">from, to</th>
          <th scope="col">runs</th>
        </tr>
      </thead>
      <tbody>
        {bins.map(({ fromMs, toMs, count }) => (
          <tr key={fromMs}>
            <th scope="row">
              {ms(fromMs)} – {ms(toMs)}
            </th>
            <td>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(count / most) * 100} height="10" />
              </svg>
              <span>{count}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
