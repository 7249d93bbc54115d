import type { FastifyInstance } from 'fastify'
import type { FailureOverview, Hub, SlowCallOverview } from 'pshub'
import type { SearchAnswer } from '../search-contract.ts'
import { rightsOf } from './access.ts'
import { Fields } from './fields.ts'
import { searchesAtOnce } from './job-routes.ts'
import type { Readings } from './readings.ts'
import { searchCalls, searchJob, searchNames } from './search.ts'
import { Turns } from './turns.ts'
import { visible } from './visible.ts'

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
    const rights = rightsOf(request)
    const seen = <T extends { task: string }>(all: readonly T[]) => all.filter(({ task }) => rights.sees(task))
    const { overview } = visible(await readings.latest(namesMaxAgeMs), rights)
    const names = searchNames(overview, text.toLowerCase().split(/\s+/))
    if (text === '') return { ...names, jobs: [], keys: [], calls: [], isCut: false }
    return turns.take(async () => {
      const [job, found, failed, slow] = [
        await searchJob(hub, text, rights.sees),
        await hub.findKeys(text, 6, rights.sees),
        await failures(),
        await slowCalls(),
      ]
      const calls = searchCalls(
        [
          ['failure', seen(failed)],
          ['unanswered', overview.unanswered],
          ['slow', seen(slow)],
        ],
        text,
      )
      return { ...names, jobs: seen(job.jobs), keys: found.keys, calls, isCut: job.isCut || found.isCut }
    })
  })
}
