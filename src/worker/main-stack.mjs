// The stack of the main thread, asked for by a thread beside it: V8 interrupts what computes there for a moment. What waits inside of
// native code cannot be interrupted; then there is no answer in time. Plain JavaScript, like the thread that uses it.
import { Session } from 'node:inspector'

const patienceMs = 1000
const mostFrames = 30

/** Resolves with lines like `inner (file:///app/tasks.mjs:5:62)`, innermost first; with none where it could not be had. */
export const mainStack = () =>
  new Promise(resolve => {
    const session = new Session()
    const end = frames => {
      clearTimeout(timer)
      // Also ends a pause that is still asked for.
      session.disconnect()
      resolve(frames)
    }
    const timer = setTimeout(() => end([]), patienceMs)
    try {
      session.connectToMainThread()
      // Frames do not name their files themselves.
      const urls = new Map()
      session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url))
      session.on('Debugger.paused', ({ params: { callFrames } }) => {
        const lines = callFrames.slice(0, mostFrames).map(frame => lineOf(frame, urls.get(frame.location.scriptId)))
        session.post('Debugger.resume', () => end(lines))
      })
      session.post('Debugger.enable', error =>
        error ? end([]) : session.post('Debugger.pause', later => later && end([])),
      )
    } catch {
      end([])
    }
  })

const lineOf = ({ functionName, location: { lineNumber, columnNumber = 0 } }, url) =>
  `${functionName || '(anonymous)'} (${url || '?'}:${lineNumber + 1}:${columnNumber + 1})`.slice(0, 500)
