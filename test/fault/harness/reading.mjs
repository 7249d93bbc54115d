// How callers of a trial read streams, and what they saw of them: each chunk says which one it is, and of which stream.

/** After a stream's deadline, for a reader that begins then: what came lies there, and its end behind that. */
const afterMs = 100

/** What is wrong with chunk `n` of this stream, if anything is. */
const wrongChunk = (value, token, n) =>
  value?.token === token && value.n === n ? undefined : `chunk ${n} was ${JSON.stringify(value)}`

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
      seen.wrong ??= wrongChunk(value, token, seen.chunks)
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

/** The same by a caller in another language, which tells at the end what came; one that is deaf reads the first one, as such do. */
export const orderStream = async (order, task, args, { token, timeoutMs }, { take, pauseMs, restMs, isDeaf }) => {
  const rests = { pause_ms: pauseMs, rest_ms: isDeaf ? timeoutMs + afterMs : restMs }
  const told = await order({ task, args: JSON.stringify(args), timeout_ms: timeoutMs, take, ...rests })
  const chunks = JSON.parse(told.chunks)
  const wrong = chunks.map((value, at) => wrongChunk(value, token, at + 1)).find(each => each !== undefined)
  const seen = { chunks: chunks.length, ...(wrong ? { wrong } : {}) }
  if (!told.ok) return { ...seen, ...failureOf(told.error) }
  return told.result === undefined
    ? { ...seen, code: 'OK', left: true }
    : { ...seen, code: 'OK', result: JSON.parse(told.result) }
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

/** How a call or a stream failed, as it is written down. */
export const failureOf = error => ({
  code: error.code ?? 'Crash',
  ran: error.ran,
  message: String(error.message).slice(0, 160),
})
