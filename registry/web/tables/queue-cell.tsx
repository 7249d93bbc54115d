import { queuePath } from '../address/paths.ts'
import { Text } from '../parts/text.tsx'

/** A table's cell that names a queue and leads to it. */
export const QueueCell = ({ queue }: { queue: string }) => (
  <td data-name="queue">
    <a class="plain" href={queuePath(queue)}>
      <Text class="short">{queue}</Text>
    </a>
  </td>
)
