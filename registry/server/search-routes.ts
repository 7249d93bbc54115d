import type { FastifyInstance } from 'fastify'
import type { FailureOverview, Hub, SlowCallOverview } from 'pshub'
import type { SearchAnswer } from '../search-contract.ts'
import { Fields } from './fields.ts'
import { searchesAtOnce } from './job-routes.ts'
import type { Readings } from './readings.ts'
import { searchCalls, searchJob, searchNames } from './search.ts'
import { Turns } from './turns.ts'

export interface SearchParts {
  hub: Hub
  readings: Readings
  slowCalls(): Promise<readonly SlowCallOverview[]>
  failures(): Promise<readonly FailureOverview[]>
}

const longestText = 200
/** How old names may be: each letter that is typed asks. */
const namesMaxAgeMs = 3000

/** Everything by its name or id: for the palette of the pages. */
export const searchRoutes = (app: FastifyInstance, { hub, readings, slowCalls, failures }: SearchParts): void => {
  const turns = new Turns(searchesAtOnce)
  app.get('/api/search', { config: { registryAccess: 'view' } }, async (request): Promise<SearchAnswer> => {
    const text = new Fields(request.query, ['text']).neededText('text', longestText).trim()
    const { overview } = await readings.latest(namesMaxAgeMs)
    const names = searchNames(overview, text.toLowerCase().split(/\s+/))
    if (text === '') return { ...names, jobs: [], keys: [], calls: [], isCut: false }
    return turns.take(async () => {
      const [job, found, failed, slow] = [
        await searchJob(hub, text),
        await hub.findKeys(text, 6),
        await failures(),
        await slowCalls(),
      ]
      const calls = searchCalls(
        [
          ['failure', failed],
          ['refusal', overview.refusals],
          ['slow', slow],
        ],
        text,
      )
      return { ...names, jobs: job.jobs, keys: found.keys, calls, isCut: job.isCut || found.isCut }
    })
  })
}
