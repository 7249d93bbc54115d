import { workerPath } from '../address/paths.ts'
import { Text } from './text.tsx'

/** A worker by its process, or by its id where no more is known; leads to its page. */
export const WorkerLink = ({ id, host, pid }: { id: string; host?: string; pid?: number }) => (
  <a class="plain" href={workerPath(id)} title={`worker ${id}`}>
    {host === undefined ? <Text class="short mono">{id}</Text> : <Text class="short">{`${host} pid ${pid}`}</Text>}
  </a>
)
