import { LocationProvider, Route, Router } from 'preact-iso'
import { base } from './base.ts'
import { OverviewPage } from './pages/overview.tsx'
import { QueuesPage } from './pages/queues.tsx'
import { TaskPage } from './pages/task.tsx'
import { TasksPage } from './pages/tasks.tsx'
import { UnknownPage } from './pages/unknown.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { Frame } from './parts/frame.tsx'

export const App = () => (
  <LocationProvider scope={base}>
    <Frame>
      <Router>
        <Route path={base} component={OverviewPage} />
        <Route path={`${base}tasks`} component={TasksPage} />
        <Route path={`${base}tasks/:task`} component={TaskPage} />
        <Route path={`${base}workers`} component={WorkersPage} />
        <Route path={`${base}queues`} component={QueuesPage} />
        <Route default component={UnknownPage} />
      </Router>
    </Frame>
  </LocationProvider>
)
