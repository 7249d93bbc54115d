// How callers of a trial read streams, and what they saw of them: each chunk says which one it is, and of which stream.

/** After a stream's deadline, for a reader that begins then: what came lies there, and its end behind that. */
const afterMs = 100

/**
 * Reads one to its end. `take`: it leaves after so many; `pauseMs`: it rests before each; `restMs`: it reads the first one, and no further one
 * for so long; `isDeaf`: none before its deadline.
 * @returns the outcome: how many `chunks` it read; `wrong`: the first one that was not the next one; `result`, or `left`
 */
export const readStream = async (stream, { token, timeoutMs }, { take, pauseMs = 0, restMs = 0, isDeaf = false }) => {
  const seen = { chunks: 0 }
  try {
    if (isDeaf) await sleep(timeoutMs + afterMs)
    for (;;) {
      if (pauseMs > 0) await sleep(pauseMs)
      const { done, value } = await stream.next()
      if (done) return { ...seen, code: 'OK', result: value }
      seen.chunks++
      if (value?.token !== token || value.n !== seen.chunks)
        seen.wrong ??= `chunk ${seen.chunks} was ${JSON.stringify(value)}`
      if (seen.chunks === take) {
        await stream.return()
        return { ...seen, code: 'OK', left: true }
      }
      if (seen.chunks === 1 && restMs > 0) await sleep(restMs)
    }
  } catch (error) {
    return { ...seen, ...failureOf(error) }
  }
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

/** How a call or a stream failed, as it is written down. */
export const failureOf = error => ({
  code: error.code ?? 'Crash',
  ran: error.ran,
  message: String(error.message).slice(0, 160),
})
