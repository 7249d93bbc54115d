import type { ComponentType } from 'preact'
import { LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { base } from '../address/paths.ts'
import { Frame } from '../frame/index.tsx'
import { Boundary } from '../parts/boundary.tsx'
import { access } from '../session/access.ts'
import { FailuresPage } from './failures.tsx'
import { JobsPage } from './jobs/index.tsx'
import { LoginPage, RefusedPage } from './login.tsx'
import { OverviewPage } from './overview/index.tsx'
import { QueuePage } from './queue.tsx'
import { QueuesPage } from './queues.tsx'
import { SchedulesPage } from './schedules.tsx'
import { SlowCallsPage } from './slow-calls.tsx'
import { TasksPage } from './tasks.tsx'
import { UnknownPage } from './unknown.tsx'
import { WorkerPage } from './worker/index.tsx'
import { WorkersPage } from './workers.tsx'

// Forms and descriptions are the larger part of what is sent, and no other page needs them.
const TaskPage = lazy(() => import('./task/index.tsx').then(module => module.TaskPage))
const KeyPage = lazy(() => import('./key/index.tsx').then(module => module.KeyPage))
const ApiReferencePage = lazy(() => import('./api-reference/index.tsx').then(module => module.ApiReferencePage))
const JobPage = lazy(() => import('./job/index.tsx').then(module => module.JobPage))

/** A page that cannot be drawn says so in its place; the frame around it stays, and leads to the others. */
const guarded = (Page: ComponentType): ComponentType => {
  const Guarded = () => {
    const { url } = useLocation()
    return (
      <Boundary what="This page" of={url}>
        <Page />
      </Boundary>
    )
  }
  return Guarded
}

/** Each once: another component would be another page at every drawing. */
const pages = {
  '': guarded(OverviewPage),
  login: guarded(OverviewPage),
  tasks: guarded(TasksPage),
  // Names of tasks have slashes.
  'tasks/:task+': guarded(TaskPage),
  workers: guarded(WorkersPage),
  'workers/:worker': guarded(WorkerPage),
  queues: guarded(QueuesPage),
  'queues/:queue': guarded(QueuePage),
  jobs: guarded(JobsPage),
  'jobs/:job': guarded(JobPage),
  key: guarded(KeyPage),
  schedules: guarded(SchedulesPage),
  failures: guarded(FailuresPage),
  slow: guarded(SlowCallsPage),
  'api-reference': guarded(ApiReferencePage),
}
const NoPage = guarded(UnknownPage)

export const App = () =>
  access.value === 'unknown' ? null : (
    <LocationProvider scope={base}>
      <Place />
    </LocationProvider>
  )

const Place = () => {
  if (access.value === 'out') return <LoginPage />
  return access.value === 'refused' ? <RefusedPage /> : <Pages />
}

const Pages = () => (
  <Frame>
    <Router>
      {Object.entries(pages).map(([path, page]) => (
        <Route key={path} path={base + path} component={page} />
      ))}
      <Route default component={NoPage} />
    </Router>
  </Frame>
)
