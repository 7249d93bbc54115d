import type { Page } from 'playwright-core'
import { cssString, type Look, lookAt, shownValue } from './form-look.ts'

/**
 * Enters values through the form's own controls, the way a person does: looks what is at a place, then types, chooses, adds and
 * picks. Knows nothing of the schema. `branches` tells which kind to pick where labels alone do not say.
 */
export class Driver {
  readonly #page: Page
  readonly #branches: Record<string, string>

  constructor(page: Page, branches: Record<string, string> = {}) {
    this.#page = page
    this.#branches = branches
  }

  async enter(pointer: string, value: unknown): Promise<void> {
    let look = await this.#look(pointer)
    if (look.states.length) {
      const wanted = value === null && look.states.includes('null') ? 'null' : 'given'
      // Typing gives a text or a number by itself; an empty text has to be given.
      const typed = look.control !== undefined && value !== ''
      if (look.now !== wanted && !(wanted === 'given' && look.now === 'absent' && typed)) {
        await this.#select(`[data-state=${cssString(pointer)}]`, wanted)
        look = await this.#look(pointer)
      }
      if (wanted === 'null') return
    }
    if (look.branches.length) await this.#choose(pointer, value, look)
    else await this.#operate(pointer, value, look)
  }

  /** A branch is right when the value comes out: people see that at once, the driver tries. */
  async #choose(pointer: string, value: unknown, look: Look): Promise<void> {
    const told = this.#branches[pointer]
    const order = told === undefined ? sorted(look.branches, value) : [told]
    const list = this.#page.locator(`[data-branch=${cssString(pointer)}]`)
    let best = { label: '', taken: -1 }
    for (const label of order) {
      await list.selectOption({ label })
      await this.#operate(pointer, value, await this.#look(pointer))
      const now = await shownValue(this.#page, pointer)
      if (order.length === 1 || same(now, value)) return
      const wanted = Object.keys(Object(value))
      const taken = wanted.filter(key => Object.hasOwn(Object(now), key)).length * 100 - Object.keys(Object(now)).length
      if (taken > best.taken) best = { label, taken }
    }
    // A value that is wrong in part fits none: back to the kind that took most of it. It kept what was entered.
    if (best.label !== '') await list.selectOption({ label: best.label })
  }

  async #operate(pointer: string, value: unknown, look: Look): Promise<void> {
    const own = `[data-pointer=${cssString(pointer)}]`
    if (look.canGive) await this.#page.locator(`[data-give=${cssString(pointer)}]`).click()
    else if (look.control === 'radio') await this.#radio(pointer, value, look.options)
    else if (look.control === 'select') await this.#list(pointer, value, look.options)
    else if (look.control === 'file')
      await this.#page
        .locator(own)
        .setInputFiles({ name: 'file', mimeType: 'x/y', buffer: Buffer.from(String(value), 'base64') })
    else if (look.control === 'json') await this.#page.locator(own).fill(JSON.stringify(value))
    else if (look.control === 'text') await this.#page.locator(own).fill(textOf(value))
    else if (look.isList && Array.isArray(value)) await this.#items(pointer, value, look)
    else if (typeof value === 'object' && value !== null) await this.#fields(pointer, value as Record<string, unknown>)
  }

  async #items(pointer: string, value: readonly unknown[], look: Look): Promise<void> {
    for (let count = look.items; count > value.length; count--)
      await this.#page.locator(`[data-tool=${cssString(`remove ${pointer}/${count - 1}`)}]`).click()
    for (const [i, item] of value.entries()) {
      if (i >= look.items) {
        const add = this.#page.locator(`[data-add=${cssString(pointer)}]`)
        // A list that must not grow offers no button.
        if ((await add.count()) === 0) return
        await add.click()
      }
      await this.enter(`${pointer}/${i}`, item)
    }
  }

  async #fields(pointer: string, value: Record<string, unknown>): Promise<void> {
    const late: string[] = []
    for (const key of Object.keys(value)) {
      const inner = pointer + segment(key)
      // A field may only be there once another one has its value.
      if ((await this.#look(inner)).isThere) await this.enter(inner, value[key])
      else late.push(key)
    }
    for (const key of late) {
      const inner = pointer + segment(key)
      if (!(await this.#look(inner)).isThere && !(await this.#addKey(pointer, key))) continue
      await this.enter(inner, value[key])
    }
    const now = (await shownValue(this.#page, pointer)) as Record<string, unknown> | undefined
    for (const key of Object.keys(now ?? {}))
      if (!Object.hasOwn(value, key)) await this.#leaveOut(pointer + segment(key))
  }

  async #addKey(pointer: string, key: string): Promise<boolean> {
    const more = this.#page.locator(`[data-more-keys=${cssString(pointer)}]`)
    if (await more.count()) await more.click()
    const name = this.#page.locator(`[data-new-key=${cssString(pointer)}]`)
    if ((await name.count()) === 0) return false
    await name.fill(key)
    await this.#page.locator(`[data-add-key=${cssString(pointer)}]`).click()
    return (await this.#look(pointer + segment(key))).isThere
  }

  async #leaveOut(pointer: string): Promise<void> {
    const { states, control } = await this.#look(pointer)
    if (states.includes('absent')) await this.#select(`[data-state=${cssString(pointer)}]`, 'absent')
    else if (control === 'text') await this.#page.locator(`[data-pointer=${cssString(pointer)}]`).fill('')
  }

  async #radio(pointer: string, value: unknown, options: readonly string[]): Promise<void> {
    const radios = this.#page.locator(`[data-pointer=${cssString(pointer)}]`)
    const at = placeOf(value, options)
    if (at >= 0) await radios.nth(at).check()
    else
      for (let i = 0; i < options.length && !same(await shownValue(this.#page, pointer), value); i++)
        await radios.nth(i).check()
  }

  async #list(pointer: string, value: unknown, options: readonly string[]): Promise<void> {
    const list = this.#page.locator(`[data-pointer=${cssString(pointer)}]`)
    const at = placeOf(value, options)
    if (at >= 0) await list.selectOption({ label: options[at]! })
    else
      for (const label of options) {
        if (same(await shownValue(this.#page, pointer), value)) return
        await list.selectOption({ label })
      }
  }

  async #select(selector: string, value: string): Promise<void> {
    await this.#page.locator(selector).selectOption(value)
  }

  #look(pointer: string): Promise<Look> {
    return lookAt(this.#page, pointer)
  }
}

const segment = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const placeOf = (value: unknown, options: readonly string[]): number => {
  const json = options.indexOf(JSON.stringify(value))
  return json >= 0 ? json : options.indexOf(textOf(value))
}

/** Equal as JSON, whatever the order of keys. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(ordered(a)) === JSON.stringify(ordered(b))

const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, ordered(inner)])
}

const typeLabels: Record<string, string[]> = {
  string: ['text'],
  number: ['number', 'whole number'],
  boolean: ['true or false'],
  object: ['object'],
}

/** Labels that name the value's type first, then the present one. */
const sorted = (labels: readonly string[], value: unknown): string[] => {
  const kind = value === null ? ['null'] : Array.isArray(value) ? ['list'] : (typeLabels[typeof value] ?? [])
  const fixed =
    typeof value === 'object' && value !== null ? Object.values(value).filter(one => labels.includes(one)) : []
  const liked = [...fixed, ...kind]
  return [...labels].sort((a, b) => Number(liked.includes(b)) - Number(liked.includes(a)))
}
