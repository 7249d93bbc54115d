import { useRef, useState } from 'preact/hooks'
import { formatted } from '../../json/format.ts'
import type { TextProblem } from '../../json/parse.ts'
import { type JsonTextError, placeOf, readJson } from '../../json/text.ts'
import { printable } from '../../text/printable.ts'
import { JsonTab } from '../../try-it/arguments/json-tab.tsx'
import { useNotice } from '../../try-it/use-notice.tsx'

/** Arguments that a form would change, because they have numbers with more digits than JavaScript keeps: as a text, which is sent as it is. */
export const EditText = ({ text: before, retry }: { text: string; retry(text: string): Promise<void> }) => {
  const notice = useNotice()
  const [text, setText] = useState(() => inLines(before))
  const [isBusy, setBusy] = useState(false)
  const wishes = useRef({ at: 0, wish: 0 })
  const problem = problemOf(text)
  const send = async () => {
    if (problem) {
      wishes.current = { at: problem.at, wish: wishes.current.wish + 1 }
      return notice.show('The arguments cannot be sent: they are not JSON.')
    }
    setBusy(true)
    try {
      await retry(text)
    } catch (error) {
      notice.show(printable((error as Error).message))
    }
    setBusy(false)
  }
  return (
    <section class="part tryit" aria-label="Edit the arguments">
      <p class="note">
        The form would round numbers of these arguments, so edit them as text. They are sent as written, and the worker
        checks them.
      </p>
      <JsonTab text={text} problem={problem} schema={undefined} goTo={wishes.current} onText={setText} />
      <div class="run-controls">
        <button type="button" class="main" disabled={isBusy} onClick={() => void send()}>
          Retry with these arguments
        </button>
      </div>
      {notice.line}
    </section>
  )
}

const inLines = (text: string): string => {
  try {
    return formatted(readJson(text))
  } catch {
    return text
  }
}

const problemOf = (text: string): (TextProblem & { at: number }) | undefined => {
  try {
    readJson(text)
    return undefined
  } catch (error) {
    const { message, at } = error as JsonTextError
    return { message, at, ...placeOf(text, at) }
  }
}
