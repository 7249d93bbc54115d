import { LocationProvider, lazy, Route, Router } from 'preact-iso'
import { base } from '../address/paths.ts'
import { Frame } from '../frame/index.tsx'
import { access } from '../session/access.ts'
import { JobsPage } from './jobs/index.tsx'
import { LoginPage } from './login.tsx'
import { OverviewPage } from './overview/index.tsx'
import { QueuePage } from './queue.tsx'
import { QueuesPage } from './queues.tsx'
import { SchedulesPage } from './schedules.tsx'
import { TasksPage } from './tasks.tsx'
import { UnknownPage } from './unknown.tsx'
import { WorkersPage } from './workers.tsx'

// Forms and descriptions are the larger part of what is sent, and no other page needs them.
const TaskPage = lazy(() => import('./task/index.tsx').then(module => module.TaskPage))
const KeyPage = lazy(() => import('./key/index.tsx').then(module => module.KeyPage))
const JobPage = lazy(() => import('./job/index.tsx').then(module => module.JobPage))

export const App = () =>
  access.value === 'unknown' ? null : (
    <LocationProvider scope={base}>{access.value === 'out' ? <LoginPage /> : <Pages />}</LocationProvider>
  )

const Pages = () => (
  <Frame>
    <Router>
      <Route path={base} component={OverviewPage} />
      <Route path={`${base}login`} component={OverviewPage} />
      <Route path={`${base}tasks`} component={TasksPage} />
      <Route path={`${base}tasks/:task`} component={TaskPage} />
      <Route path={`${base}workers`} component={WorkersPage} />
      <Route path={`${base}queues`} component={QueuesPage} />
      <Route path={`${base}queues/:queue`} component={QueuePage} />
      <Route path={`${base}jobs`} component={JobsPage} />
      <Route path={`${base}jobs/:job`} component={JobPage} />
      <Route path={`${base}key`} component={KeyPage} />
      <Route path={`${base}schedules`} component={SchedulesPage} />
      <Route default component={UnknownPage} />
    </Router>
  </Frame>
)
