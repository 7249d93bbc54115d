import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { plural } from '../text/figures.ts'
import { printable } from '../text/printable.ts'
import { type Action, type Entry, foundGroups, furtherGroup, type Group, knownGroups } from './entries.ts'
import { readAgain, savedFilters } from './saved-filters.ts'
import { type Found, useFound } from './use-found.ts'

export const isPaletteOpen = signal(false)

const longestText = 200

interface PaletteProps {
  actions: readonly Action[]
  go(href: string): void
}

/** Search across everything, and all that can be done, in one field. */
export const Palette = (props: PaletteProps) => (isPaletteOpen.value ? <OpenPalette {...props} /> : null)

/** A combobox with a list (WAI-ARIA 1.2): the focus stays in the field, and the arrows choose. */
const OpenPalette = ({ actions, go }: PaletteProps) => {
  const typed = useSignal('')
  const chosen = useSignal(0)
  /** Enter was pressed before there was an answer: the first that is found is taken. */
  const isWanted = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    readAgain()
    field.current?.focus()
  }, [])
  const text = typed.value.trim()
  const found = useFound(text)
  const groups = groupsOf(text, found.answer, actions)
  const entries = groups.flatMap(group => group.entries)
  const knownCount = groups.reduce((sum, { isKnown, entries: own }) => sum + (isKnown ? own.length : 0), 0)
  const at = Math.min(chosen.value, entries.length - 1)
  useEffect(() => {
    document.getElementById(optionId(at))?.scrollIntoView({ block: 'nearest' })
  }, [at, entries.length])
  const close = () => {
    isPaletteOpen.value = false
  }
  const take = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    if (entry.href === undefined) entry.act?.()
    else go(entry.href)
  }
  const isAsking = text !== found.text
  useEffect(() => {
    if (isWanted.value && !isAsking) take(entries[at])
  }, [isWanted.value, isAsking])
  const enter = () => {
    const isKnown = at < knownCount && typed.peek().trim() === text
    // What is shown may be of another text yet.
    if (isKnown || at > 0 || typed.peek().trim() === found.text) take(entries[at])
    else isWanted.value = true
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key]
    if (event.key === 'Enter') enter()
    else if (to === undefined || entries.length === 0) return
    else if (event.key.startsWith('Arrow')) chosen.value = (to + entries.length) % entries.length
    else chosen.value = Math.max(0, Math.min(entries.length - 1, to))
    event.preventDefault()
  }
  return (
    <Dialog title="Search and commands" onClose={close}>
      <input
        ref={field}
        class="palette-field"
        type="text"
        role="combobox"
        aria-label="Search everything"
        aria-expanded={entries.length > 0}
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? optionId(at) : undefined}
        placeholder="Task, queue, worker, id of a job or request, key, page, command"
        value={typed.value}
        maxLength={longestText}
        autocomplete="off"
        spellcheck={false}
        onInput={event => {
          typed.value = event.currentTarget.value
          chosen.value = 0
          isWanted.value = false
        }}
        onKeyDown={onKey}
      />
      <List groups={groups} at={at} onTake={take} />
      <p class="quiet palette-state" role="status">
        {stateText(text, entries.length, found)}
      </p>
    </Dialog>
  )
}

const groupsOf = (text: string, answer: Found['answer'], actions: readonly Action[]): Group[] => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const groups = knownGroups(words, savedFilters.value, actions)
  if (text !== '') groups.push(...(answer ? foundGroups(answer) : []), furtherGroup(text))
  return groups.filter(({ entries }) => entries.length > 0)
}

const stateText = (text: string, count: number, { answer, problem, text: answered }: Found): string => {
  if (text !== answered) return 'Searching…'
  if (problem !== undefined) return `Tasks, workers, jobs and the like cannot be searched now. ${printable(problem)}`
  const cut = answer?.isCut ? ' Not all jobs and keys were searched.' : ''
  return text === '' ? 'Type to search everything.' : `${plural(count, 'entry', 'entries')}.${cut}`
}

const optionId = (at: number): string => `palette-option-${at}`

const List = ({ groups, at, onTake }: { groups: readonly Group[]; at: number; onTake(entry: Entry): void }) => {
  let next = 0
  return (
    <div id="palette-list" class="palette-list" role="listbox" aria-label="Results">
      {groups.map(({ name, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: options are in groups of a listbox
        <div key={name} role="group" aria-label={name}>
          <div class="palette-group quiet" aria-hidden="true">
            {name}
          </div>
          {entries.map(entry => {
            const index = next++
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose
              // biome-ignore lint/a11y/useFocusableInteractive: as above
              <div
                key={entry.key}
                id={optionId(index)}
                class="palette-option"
                role="option"
                aria-selected={index === at}
                onClick={() => onTake(entry)}
              >
                <bdi class="wrap">{entry.text}</bdi>
                {entry.note && <bdi class="wrap quiet">{entry.note}</bdi>}
              </div>
            )
          })}
        </div>
      ))}
    </div>
  )
}
