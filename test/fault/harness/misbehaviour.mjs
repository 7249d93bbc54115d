// What handlers do to their worker in row F41 and its like.

const busy = ms => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

/** @returns what the handler returns; undefined: it goes on as usual */
export const misbehave = (act, ctx, journal, run, hash) => {
  switch (act.do) {
    case 'block':
      busy(act.ms)
      return undefined
    case 'big':
      journal('end', run)
      return { ...run, hash, filler: 'x'.repeat(act.chars) }
    case 'throw':
      journal('end', run)
      throw new Error('thrown on purpose')
    case 'reject':
      journal('end', run)
      return Promise.reject(undefined)
    case 'never':
      // It ignores its signal: nothing can end it, but its slot must come back.
      ctx.signal.addEventListener('abort', () => journal('abort', run))
      return new Promise(() => undefined)
    case 'stray':
      // A rejection that nobody handles ends a Node process.
      Promise.reject(new Error('unhandled on purpose'))
      return new Promise(() => undefined)
    case 'exit':
      process.exit(3)
      break
    case 'crash':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => undefined)
  }
  return undefined
}
