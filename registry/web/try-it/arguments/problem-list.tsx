import { useEffect, useRef } from 'preact/hooks'
import type { Problem } from 'pshub'
import { printable } from '../../text/printable.ts'

interface ProblemListProps {
  title: string
  problems: readonly Problem[]
  /** Changes when attention is due, after a run for example: the list then takes the focus. */
  attention: number
  onGo(pointer: string): void
}

const maxShown = 20

/** What is wrong with arguments, place by place; each leads to its field. */
export const ProblemList = ({ title, problems, attention, onGo }: ProblemListProps) => {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (attention > 0) list.current?.focus()
  }, [attention])
  const more = problems.length - maxShown
  return (
    <div class="problem-list" ref={list} tabIndex={-1}>
      <h3>{title}</h3>
      <ul>
        {problems.slice(0, maxShown).map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            <button type="button" class="link" onClick={() => onGo(pointer)}>
              <code>{pointer === '' ? 'The arguments' : printable(pointer)}</code> {printable(message)}
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {more} more</p>}
    </div>
  )
}
