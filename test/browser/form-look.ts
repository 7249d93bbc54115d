import type { Page } from 'playwright-core'

/** What somebody sees at one place of the form. */
export interface Look {
  isThere: boolean
  /** Choices of the state: absent, null, given; empty where there is none. */
  states: string[]
  now: string | undefined
  /** Labels of the kinds to pick from. */
  branches: string[]
  control: 'text' | 'json' | 'file' | 'select' | 'radio' | undefined
  /** Labels to choose from. */
  options: string[]
  canGive: boolean
  isList: boolean
  items: number
}

/** Text as a string of CSS. */
export const cssString = (text: string): string =>
  `"${text.replace(/["\\]/g, '\\$&').replace(/[\n\r\f]/g, found => `\\${found.charCodeAt(0).toString(16)} `)}"`

// Runs in the page.
const look = (pointer: string): Look => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests are checked without the types of a page
  const page = (globalThis as any).document
  const all = (name: string) =>
    [...page.querySelectorAll(`[data-${name}]`)].filter(one => one.dataset[name] === pointer)
  const texts = (select: { options: Iterable<{ value: string; text: string; disabled: boolean }> } | undefined) =>
    [...(select?.options ?? [])].filter(option => !option.disabled)
  const [control] = all('pointer')
  const [state] = all('state')
  const [branch] = all('branch')
  const [node] = all('node')
  const [give] = all('give')
  const kind = (): Look['control'] => {
    if (!control) return undefined
    if (control.type === 'radio' || control.type === 'file') return control.type
    if (control.tagName === 'SELECT') return 'select'
    return control.classList.contains('json') ? 'json' : 'text'
  }
  const options = (): string[] => {
    if (kind() === 'select') return texts(control).map(option => option.text)
    return kind() === 'radio' ? all('pointer').map(radio => radio.parentElement.textContent) : []
  }
  // Not those of a list further inside.
  const items = [...(node?.querySelectorAll('.items') ?? [])].find(one => one.closest('[data-node]') === node)
  const fields = [...(items?.children ?? [])].filter(one => one.classList.contains('field'))
  return {
    isThere: [control, state, branch, node, give].some(Boolean),
    states: texts(state).map(option => option.value),
    now: state?.dataset.now,
    branches: texts(branch).map(option => option.text),
    control: kind(),
    options: options(),
    canGive: Boolean(give),
    isList: items !== undefined,
    items: fields.length,
  }
}

export const lookAt = (page: Page, pointer: string): Promise<Look> => page.evaluate(look, pointer)

/** The part of the value that the page shows as JSON. */
export const shownValue = async (page: Page, pointer = ''): Promise<unknown> => {
  const text = await page.locator('#json').inputValue()
  let value: unknown = text === '' ? undefined : JSON.parse(text)
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Object.hasOwn(Object(value), key) ? (value as Record<string, unknown>)[key] : undefined
  }
  return value
}
