import './looks/index.css'
import { render } from 'preact'
import { startTheme } from './looks/theme.ts'
import { App } from './pages/app.tsx'
import { Boundary } from './parts/boundary.tsx'
import { startZone } from './parts/zone-choice.tsx'
import { startSessions } from './session/login.ts'

startTheme()
startZone()
startSessions()
render(
  <Boundary what="The registry">
    <App />
  </Boundary>,
  document.getElementById('app')!,
)
