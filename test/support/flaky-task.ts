import { defineTask } from '../../src/index.ts'

/** Fails as often as it is told, and notes each try. */
export const flaky = (options: object = {}) => {
  const tries: { args: unknown; attempt: number; at: number }[] = []
  const task = defineTask('flaky:1.0', { backoff: 1, ...options }, (args, ctx) => {
    tries.push({ args, attempt: ctx.attempt, at: Date.now() })
    const { fails = 0 } = args as { fails?: number }
    if (ctx.attempt <= fails) throw new Error(`try ${ctx.attempt} {failed} [here]`)
    return { attempt: ctx.attempt }
  })
  return { task, tries }
}
