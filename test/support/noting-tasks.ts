import { defineTask } from '../../src/index.ts'

/** A task whose runs end when they are told to. */
export const gated = (name: string) => {
  const runs: { args: unknown; end: () => void }[] = []
  const task = defineTask(name, {}, args => new Promise<null>(resolve => runs.push({ args, end: () => resolve(null) })))
  return { task, runs }
}

/** A task that notes its arguments. */
export const noted = (name = 'note:1.0') => {
  const seen: unknown[] = []
  return { seen, task: defineTask(name, {}, args => void seen.push(args)) }
}
