import { useMemo } from 'preact/hooks'
import { at } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { useOpenApi } from '../../live/open-api.ts'
import { useLive } from '../../live/stream.ts'
import { Boundary } from '../../parts/boundary.tsx'
import { Empty, Loading, Unread } from '../../parts/empty.tsx'
import { NoWorkersYet } from '../../parts/no-workers.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Pager } from '../../parts/pager.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { routePage, routesIn } from '../../rows/routes.ts'
import { count, plural } from '../../text/figures.ts'
import { RouteView } from './route.tsx'

/** How each task is called over HTTP, made of the OpenAPI document. */
export const ApiReferencePage = () => {
  useLive('tasks')
  const state = useQuery()
  const api = useOpenApi()
  const document = api.kind === 'there' ? api.document : undefined
  const routes = useMemo(() => (document === undefined ? undefined : routesIn(document)), [document])
  const listed = useMemo(() => routePage(routes ?? [], state.query), [routes, state.query])
  return (
    <>
      <PageHead title="API reference">
        {routes && (
          <p class="quiet" role="status">
            {listed.found.length === routes.length
              ? plural(routes.length, 'route')
              : `${count(listed.found.length)} of ${plural(routes.length, 'route')}`}
          </p>
        )}
      </PageHead>
      {api.kind === 'reading' && <Loading />}
      {api.kind === 'failed' && <Unread what="The routes" why={api.message} />}
      {routes?.length === 0 && <NoWorkersYet />}
      {routes && routes.length > 0 && (
        <>
          <p class="routes-intro">
            To call a task, send a <code>POST</code> with its arguments as JSON and a token of the role run as{' '}
            <code>authorization: Bearer</code>. The response is its result. To generate a client, use the{' '}
            <a href={at('openapi.json')} target="_top">
              OpenAPI document
            </a>
            .
          </p>
          <search class="filters">
            <SearchField name="Search routes" state={state} />
          </search>
          {listed.found.length === 0 && (
            <Empty title="No matching routes.">
              <p>
                <a href={state.link({ q: undefined, page: undefined })}>Show all routes</a>
              </p>
            </Empty>
          )}
          <div class="routes">
            {listed.shown.map(route => (
              <Boundary key={route.path} what="This route" of={route}>
                <RouteView route={route} isOpenAtFirst={listed.found.length === 1} />
              </Boundary>
            ))}
          </div>
          <Pager page={listed.page} pages={listed.pages} state={state} />
        </>
      )}
    </>
  )
}
