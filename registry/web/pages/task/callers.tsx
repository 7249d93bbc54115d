import type { TaskDetail } from '../../../contract.ts'
import { Text } from '../../parts/text.tsx'
import { count, perSecond } from '../../text/figures.ts'

/** Who calls a task: '' gave no name, '*' are all who were not counted by name. */
export const Callers = ({ detail }: { detail: TaskDetail }) => {
  const { callers } = detail
  return (
    <section class="part" aria-labelledby="callers">
      <h2 id="callers">Callers</h2>
      {callers.length === 0 ? (
        <p class="quiet">No calls since its workers started.</p>
      ) : (
        <div class="scroll panel">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">service</th>
                <th scope="col" class="number">
                  rate
                </th>
                <th scope="col" class="number">
                  calls since its workers' start
                </th>
              </tr>
            </thead>
            <tbody>
              {callers.map(({ name, calls, callsPerSecond }) => (
                <tr key={name}>
                  <td>{name === '' ? '(no name)' : name === '*' ? '(others)' : <Text>{name}</Text>}</td>
                  <td class="number">{perSecond(callsPerSecond)}</td>
                  <td class="number">{count(calls)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
