import type { RefusalOverview } from 'pshub'
import { Text, WrappedText } from '../parts/text.tsx'
import { Ago } from '../parts/time.tsx'
import { count } from '../text/figures.ts'

/** What hubs refused or gave up of one task in the last hour: no worker knows of it. */
export const RefusalTable = ({ refusals }: { refusals: readonly RefusalOverview[] }) => {
  if (refusals.length === 0) return null
  return (
    <div class="scroll panel">
      <table class="rows cards">
        <caption>Refused or given up by callers, in the last hour</caption>
        <thead>
          <tr>
            <th scope="col">latest</th>
            <th scope="col">code</th>
            <th scope="col" class="number">
              last minute
            </th>
            <th scope="col" class="number" title="Since this caller started">
              in all
            </th>
            <th scope="col">latest message</th>
            <th scope="col">request</th>
            <th scope="col">caller</th>
          </tr>
        </thead>
        <tbody>
          {refusals.map(({ code, lastMinute, count: all, atMs, message, id, from, hub, host, pid }) => (
            <tr key={`${hub} ${code}`}>
              <td data-name="latest">
                <Ago atMs={atMs} />
              </td>
              <td data-name="code" class="failing">
                <Text class="short">{code}</Text>
              </td>
              <td data-name="last minute" class="number">
                {count(lastMinute)}
              </td>
              <td data-name="in all" class="number">
                {count(all)}
              </td>
              <td data-name="latest message" class="grow message">
                <WrappedText>{message}</WrappedText>
              </td>
              <td data-name="request">
                <Text class="short mono">{id ?? '–'}</Text>
              </td>
              <td data-name="caller" title={`hub ${hub}`}>
                <Text class="short">{`${from || '(no name)'} on ${host} pid ${pid}`}</Text>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
