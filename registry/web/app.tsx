import { LocationProvider, lazy, Route, Router } from 'preact-iso'
import { base } from './base.ts'
import { LoginPage } from './pages/login.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { QueuePage } from './pages/queue.tsx'
import { QueuesPage } from './pages/queues.tsx'
import { TasksPage } from './pages/tasks.tsx'
import { UnknownPage } from './pages/unknown.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { Frame } from './parts/frame.tsx'
import { access } from './session.ts'

// Forms and descriptions are the larger part of what is sent, and no other page needs them.
const TaskPage = lazy(() => import('./pages/task.tsx').then(module => module.TaskPage))

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
      <Route default component={UnknownPage} />
    </Router>
  </Frame>
)
