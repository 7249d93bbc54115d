import './styles/index.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startSession } from './login.ts'
import { startTheme } from './theme.ts'

startTheme()
void startSession()
render(<App />, document.getElementById('app')!)
