import { useState } from 'preact/hooks'

/** One line that is read out when it changes; `whisper` is only for who does not see the page. */
export const useNotice = () => {
  const [said, setSaid] = useState({ text: '', isSeen: false, count: 0 })
  const say = (isSeen: boolean) => (text: string) => setSaid(({ count }) => ({ text, isSeen, count: count + 1 }))
  return {
    show: say(true),
    whisper: say(false),
    line: (
      <p role="status" class={said.isSeen ? 'notice' : 'visually-hidden'}>
        <span key={said.count}>{said.text}</span>
      </p>
    ),
  }
}
