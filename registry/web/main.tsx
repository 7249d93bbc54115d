import './looks/index.css'
import { render } from 'preact'
import { startTheme } from './looks/theme.ts'
import { App } from './pages/app.tsx'
import { startSession } from './session/login.ts'

startTheme()
void startSession()
render(<App />, document.getElementById('app')!)
