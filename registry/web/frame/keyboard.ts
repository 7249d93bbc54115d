import { signal } from '@preact/signals'
import { isSearchWanted } from '../parts/search-field.tsx'

/** All keys, as the help lists them. */
export const keys = [
  { keys: ['Ctrl', 'K'], does: 'Search everything, and all commands (⌘ K on a Mac)' },
  { keys: ['/'], does: 'Search on this page, or among all tasks' },
  { keys: ['g', 'o'], does: 'Go to the overview' },
  { keys: ['g', 't'], does: 'Go to the tasks' },
  { keys: ['g', 'w'], does: 'Go to the workers' },
  { keys: ['g', 'q'], does: 'Go to the queues' },
  { keys: ['g', 'j'], does: 'Go to the jobs' },
  { keys: ['g', 's'], does: 'Go to the schedules' },
  { keys: ['g', 'f'], does: 'Go to the failures' },
  { keys: ['g', 'c'], does: 'Go to the slow calls' },
  { keys: ['g', 'a'], does: 'Go to the API reference' },
  { keys: ['p'], does: 'Freeze or resume the page' },
  { keys: ['Ctrl', 'Enter'], does: 'Run the task of this form' },
  { keys: ['Esc'], does: 'Close a dialog or the search' },
  { keys: ['?'], does: 'This help' },
] as const

export const isHelpOpen = signal(false)

const storedAs = 'pshub-single-keys'
/** Storage may be denied; then the choice lasts as long as the page. */
const stored = (): string | null => {
  try {
    return localStorage.getItem(storedAs)
  } catch {
    return null
  }
}

/** Keys that are pressed alone; who dictates, or whose hand slips, may switch them off. */
export const areSingleKeysOn = signal(stored() !== 'off')

export const switchSingleKeys = (isOn: boolean): void => {
  areSingleKeysOn.value = isOn
  try {
    localStorage.setItem(storedAs, isOn ? 'on' : 'off')
  } catch {
    // As above.
  }
}

export interface KeyActions {
  go(place: string): void
  pause(): void
  /** Opens the palette, or closes it. */
  togglePalette(): void
}

const places: Record<string, string> = {
  o: '',
  t: 'tasks',
  w: 'workers',
  q: 'queues',
  j: 'jobs',
  s: 'schedules',
  f: 'failures',
  c: 'slow',
  a: 'api-reference',
}
/** A second key belongs to `g` for so long. */
const patienceMs = 1500

/** Listens for the keys above; the function that is returned ends it. */
export const startKeyboard = ({ go, pause, togglePalette }: KeyActions): (() => void) => {
  let jumpedAt = Number.NEGATIVE_INFINITY
  const onKey = (event: KeyboardEvent) => {
    if (isForPalette(event)) {
      // A dialog that asks something is not to be left by the way.
      if (document.querySelector('dialog[open]') && !document.querySelector('.palette-field')) return
      event.preventDefault()
      togglePalette()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return
    if (document.querySelector('dialog[open]')) return
    if (isTyping(event.target)) {
      if (event.key !== 'Escape') return
      // A browser's own Esc would empty the field, and tell nobody once it lost the focus.
      event.preventDefault()
      ;(event.target as HTMLElement).blur()
      return
    }
    if (!areSingleKeysOn.value) return
    const isJump = event.timeStamp - jumpedAt < patienceMs
    jumpedAt = Number.NEGATIVE_INFINITY
    const place = isJump ? places[event.key] : undefined
    if (place !== undefined) go(place)
    else if (event.key === 'g') jumpedAt = event.timeStamp
    else if (event.key === '/') search(go)
    else if (event.key === '?') isHelpOpen.value = true
    else if (event.key === 'p') pause()
    else return
    event.preventDefault()
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** On a Mac Ctrl-K is an editing key of every field. */
const isForPalette = (event: KeyboardEvent): boolean =>
  event.key.toLowerCase() === 'k' &&
  (isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey &&
  !event.isComposing

const search = (go: KeyActions['go']): void => {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (field) {
    field.focus()
    field.select()
    return
  }
  isSearchWanted.value = true
  go('tasks')
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)) &&
  !(target instanceof HTMLInputElement && ['checkbox', 'radio', 'button', 'submit'].includes(target.type))
