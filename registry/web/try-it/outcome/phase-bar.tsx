import type { CallPhases } from 'pshub'
import { us } from '../../text/figures.ts'

const parts = [
  { key: 'backlog', name: 'Backlog', about: 'waited in Redis for an idle slot' },
  { key: 'queue', name: 'Queue', about: 'in the worker, until the handler started' },
  { key: 'exec', name: 'Run', about: 'the handler' },
  { key: 'reply', name: 'Reply', about: 'the push, and the way back' },
] as const

/** Where the time of one call went. The bar is for the eye; the table beside it says the same in words and numbers. */
export const PhaseBar = ({ phases }: { phases: CallPhases }) => {
  const sum = parts.reduce((all, { key }) => all + phases[key], 0) || 1
  return (
    <div class="call-phases">
      <div class="phase-bar" aria-hidden="true">
        {parts.map(({ key, name }) => (
          <div key={key} data-phase={key} style={{ flexGrow: phases[key] / sum }} title={`${name}: ${us(phases[key])}`}>
            {phases[key] / sum > 0.14 && <span>{name}</span>}
          </div>
        ))}
      </div>
      <table>
        <caption class="visually-hidden">Where the time went</caption>
        <tbody>
          {parts.map(({ key, name, about }) => (
            <tr key={key}>
              <th scope="row">
                <span class="swatch" data-phase={key} aria-hidden="true" />
                {name}
              </th>
              <td class="figure">{us(phases[key])}</td>
              <td class="figure quiet">{Math.round((phases[key] / sum) * 100)} %</td>
              <td class="quiet">{about}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">Total</th>
            <td class="figure">{us(phases.total)}</td>
            <td />
            <td class="quiet">as measured by the registry</td>
          </tr>
        </tbody>
      </table>
    </div>
  )
}
