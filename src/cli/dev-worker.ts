import { makeLogger } from '../outlets/log.ts'
import type { Settings } from '../settings/read.ts'
import { messageOf } from '../wire/errors.ts'
import { Worker } from '../worker/worker.ts'
import { watchImports } from './dev-imports.ts'
import { onStop, tellDev } from './dev-parts.ts'
import { exitCodes } from './exit-codes.ts'
import { lastWordsOf, watchFaults } from './faults.ts'
import { loadTasks } from './load-tasks.ts'
import { orStuck } from './or-stuck.ts'

/** After an exception that nothing caught. */
const faultGraceMs = 2000

/** Loads the modules and serves their tasks: the part of `pshub dev` that is made anew with each change. Resolves with the exit code. */
export const serveForDev = async (modules: string[], settings: Readonly<Settings>): Promise<number> => {
  const tellOfImports = watchImports(files => void tellDev({ kind: 'files', files }))
  const log = makeLogger(settings)
  let stop = (_graceMs: number): void => process.exit(exitCodes.ok)
  let onFatal = (): void => process.exit(exitCodes.failed)
  let lastWords: ((error: unknown) => unknown)[] = []
  onStop(settings.graceMs, graceMs => stop(graceMs))
  watchFaults(
    log,
    () => onFatal(),
    lastWordsOf(() => lastWords),
  )
  try {
    const loaded = await loadTasks(modules, process.cwd())
    tellOfImports()
    lastWords = loaded.lastWords
    const onStart = async () => {
      for (const hook of loaded.onStart) await orStuck('onStart', async () => hook())
    }
    const worker = new Worker({ ...settings, tasks: loaded.tasks, onStart })
    let code: number = exitCodes.ok
    const stopped = new Promise<void>(resolve => {
      stop = graceMs => {
        void worker.stop({ graceMs }).then(resolve)
        void tellDev({ kind: 'stopping' })
      }
      onFatal = () => {
        code = exitCodes.failed
        stop(Math.min(faultGraceMs, settings.graceMs))
      }
    })
    await Promise.race([worker.start(), stopped])
    void tellDev({ kind: 'serving', tasks: loaded.tasks.map(({ name }) => name.full).sort() })
    await stopped
    return code
  } catch (error) {
    tellOfImports()
    await tellDev({ kind: 'failed', message: messageOf(error) })
    return exitCodes.failed
  }
}
