import type { SlowCallOverview } from 'pshub'
import type { TaskDetail } from '../../../contract.ts'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { ms, us } from '../../text/figures.ts'

const phases = ['backlog', 'queue', 'exec'] as const
const phaseNames = { backlog: 'backlog', queue: 'queue', exec: 'run' }

/** The slowest calls of the last minutes, and where their time went. */
export const SlowCalls = ({ detail }: { detail: TaskDetail }) => {
  const calls = detail.slow.slice(0, 20)
  const longest = Math.max(1, ...calls.map(({ totalUs }) => totalUs))
  return (
    <section class="part" aria-labelledby="slow">
      <h2 id="slow">Slowest calls of the last 5 minutes</h2>
      {calls.length === 0 ? (
        <p class="quiet">No call took longer than a millisecond.</p>
      ) : (
        <div class="scroll panel">
          <table class="rows cards">
            <thead>
              <tr>
                <th scope="col">ended</th>
                <th scope="col" class="number">
                  total
                </th>
                <th scope="col">where the time went</th>
                {phases.map(phase => (
                  <th key={phase} scope="col" class="number">
                    <span class={`phase-key ${phase}`} aria-hidden="true" /> {phaseNames[phase]}
                  </th>
                ))}
                <th scope="col" class="number" title="How long the worker's event loop stood still meanwhile">
                  loop stood
                </th>
                <th scope="col">outcome</th>
                <th scope="col">caller</th>
                <th scope="col">worker</th>
              </tr>
            </thead>
            <tbody>
              {calls.map(call => (
                <SlowRow key={`${call.worker} ${call.id}`} call={call} longest={longest} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

const SlowRow = ({ call, longest }: { call: SlowCallOverview; longest: number }) => (
  <tr>
    <td data-name="ended">
      <Ago atMs={call.at / 1000} />
    </td>
    <td data-name="total" class="number">
      {us(call.totalUs)}
    </td>
    <td data-name="where the time went">
      <span class="phases" aria-hidden="true">
        {phases.map(phase => (
          <span
            key={phase}
            class={`phase ${phase}`}
            style={{ width: `${((call.us[phase] / longest) * 100).toFixed(2)}%` }}
          />
        ))}
      </span>
    </td>
    {phases.map(phase => (
      <td key={phase} data-name={phaseNames[phase]} class="number">
        {us(call.us[phase])}
      </td>
    ))}
    <td data-name="loop stood" class="number">
      {call.loopMs > 0 ? ms(call.loopMs) : '–'}
    </td>
    <td data-name="outcome" class={call.code === undefined ? undefined : 'failing'}>
      {call.code === undefined ? 'ok' : <Text class="short">{call.code}</Text>}
    </td>
    <td data-name="caller">
      <Text class="short">{call.from ?? '–'}</Text>
    </td>
    <td data-name="worker">
      <Text class="short">{`${call.host} pid ${call.pid}`}</Text>
    </td>
  </tr>
)
