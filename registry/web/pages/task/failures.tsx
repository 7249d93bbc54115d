import type { TaskDetail } from '../../../contract.ts'
import { Text, WrappedText } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { RefusalTable } from '../../tables/refusals.tsx'
import { count, perSecond, us } from '../../text/figures.ts'

/** Who calls a task: '' gave no name, '*' are all who were not counted by name. */
interface CallerRow {
  name: string
  calls: number
  callsPerSecond: number
}

/** A call that did not end well. */
interface FailureRow {
  id: string
  /** Redis' microseconds. */
  at: number
  code: string
  message: string
  from?: string
  execUs: number
  worker: string
  host: string
  pid: number
}

/** Present when the service tells them. */
type Told = TaskDetail & { callers?: readonly CallerRow[]; failures?: readonly FailureRow[] }

export const Callers = ({ detail }: { detail: TaskDetail }) => {
  const { callers } = detail as Told
  if (!callers) return null
  return (
    <section class="part" aria-labelledby="callers">
      <h2 id="callers">Callers</h2>
      {callers.length === 0 ? (
        <p class="quiet">Nobody has called it since its workers started.</p>
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

export const Failures = ({ detail }: { detail: TaskDetail }) => (
  <section class="part" aria-labelledby="failures">
    <h2 id="failures">Recent failures</h2>
    <Errors detail={detail} />
    <RefusalTable refusals={detail.refusals} />
    <FailureTable failures={(detail as Told).failures} />
  </section>
)

/** How often which code came in the last minute. */
const Errors = ({ detail }: { detail: TaskDetail }) => {
  const errors = Object.entries(detail.row.load.errors)
  if (errors.length === 0) return null
  return (
    <ul class="chips">
      {errors.map(([code, times]) => (
        <li key={code}>
          <Text class="short">{code}</Text> <span class="quiet">{count(times)} in the last minute</span>
        </li>
      ))}
    </ul>
  )
}

const FailureTable = ({ failures }: { failures: readonly FailureRow[] | undefined }) => {
  if (!failures || failures.length === 0)
    return (
      <p class="quiet">
        {failures ? 'No call failed in the last hour.' : 'Only the codes of the last minute are known.'}
      </p>
    )
  return (
    <div class="scroll panel">
      <table class="rows cards">
        <thead>
          <tr>
            <th scope="col">ended</th>
            <th scope="col">code</th>
            <th scope="col">message</th>
            <th scope="col" class="number">
              ran for
            </th>
            <th scope="col">caller</th>
            <th scope="col">worker</th>
          </tr>
        </thead>
        <tbody>
          {failures.map(({ id, at, code, message, from, execUs, worker, host, pid }) => (
            <tr key={`${worker} ${id}`}>
              <td data-name="ended">
                <Ago atMs={at / 1000} />
              </td>
              <td data-name="code" class="failing">
                <Text class="short">{code}</Text>
              </td>
              <td data-name="message" class="grow message">
                <WrappedText>{message}</WrappedText>
              </td>
              <td data-name="ran for" class="number">
                {execUs > 0 ? us(execUs) : 'not started'}
              </td>
              <td data-name="caller">
                <Text class="short">{from ?? '–'}</Text>
              </td>
              <td data-name="worker">
                <Text class="short">{`${host} pid ${pid}`}</Text>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
