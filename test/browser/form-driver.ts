import type { Hands } from './form-hands.ts'
import type { Look } from './form-look.ts'

/**
 * Enters values through the form's own controls, the way a person does: looks what is at a place, then types, chooses, adds and
 * picks. Knows nothing of the schema. `branches` tells which kind to pick where labels alone do not say.
 */
export class Driver {
  readonly #form: Hands
  readonly #branches: Record<string, string>

  constructor(form: Hands, branches: Record<string, string> = {}) {
    this.#form = form
    this.#branches = branches
  }

  async enter(pointer: string, value: unknown): Promise<void> {
    let look = await this.#form.look(pointer)
    if (look.states.length) {
      const wanted = value === null && look.states.includes('null') ? 'null' : 'given'
      // Typing gives a text or a number by itself; an empty text has to be given.
      const typed = look.control !== undefined && value !== ''
      if (look.now !== wanted && !(wanted === 'given' && look.now === 'absent' && typed)) {
        await this.#form.setState(pointer, wanted)
        look = await this.#form.look(pointer)
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
    let best = { label: '', taken: -1 }
    for (const label of order) {
      await this.#form.chooseBranch(pointer, label)
      await this.#operate(pointer, value, await this.#form.look(pointer))
      const now = await this.#form.shown(pointer)
      if (order.length === 1 || same(now, value)) return
      const wanted = Object.keys(Object(value))
      const taken = wanted.filter(key => Object.hasOwn(Object(now), key)).length * 100 - Object.keys(Object(now)).length
      if (taken > best.taken) best = { label, taken }
    }
    // A value that is wrong in part fits none: back to the kind that took most of it. It kept what was entered.
    if (best.label !== '') await this.#form.chooseBranch(pointer, best.label)
  }

  async #operate(pointer: string, value: unknown, look: Look): Promise<void> {
    if (look.canGive) await this.#form.give(pointer)
    else if (look.control === 'radio') await this.#radio(pointer, value, look.options)
    else if (look.control === 'select') await this.#list(pointer, value, look.options)
    else if (look.control === 'file') await this.#form.attach(pointer, Buffer.from(String(value), 'base64'))
    else if (look.control === 'json') await this.#form.type(pointer, JSON.stringify(value))
    else if (look.control === 'text') await this.#form.type(pointer, textOf(value))
    else if (look.isList && Array.isArray(value)) await this.#items(pointer, value, look)
    else if (typeof value === 'object' && value !== null) await this.#fields(pointer, value as Record<string, unknown>)
  }

  async #items(pointer: string, value: readonly unknown[], look: Look): Promise<void> {
    for (let count = look.items; count > value.length; count--) await this.#form.removeItem(pointer, count - 1)
    for (const [i, item] of value.entries()) {
      // A list that must not grow offers no button.
      if (i >= look.items && !(await this.#form.addItem(pointer))) return
      await this.enter(`${pointer}/${i}`, item)
    }
  }

  async #fields(pointer: string, value: Record<string, unknown>): Promise<void> {
    const late: string[] = []
    for (const key of Object.keys(value)) {
      const inner = pointer + segment(key)
      // A field may only be there once another one has its value.
      if (await this.#isThere(inner)) await this.enter(inner, value[key])
      else late.push(key)
    }
    for (const key of late) {
      const inner = pointer + segment(key)
      if (!(await this.#isThere(inner)) && !(await this.#addKey(pointer, key))) continue
      await this.enter(inner, value[key])
    }
    const now = (await this.#form.shown(pointer)) as Record<string, unknown> | undefined
    for (const key of Object.keys(now ?? {}))
      if (!Object.hasOwn(value, key)) await this.#leaveOut(pointer + segment(key))
  }

  async #isThere(pointer: string): Promise<boolean> {
    return (await this.#form.look(pointer)).isThere
  }

  async #addKey(pointer: string, key: string): Promise<boolean> {
    return (await this.#form.addKey(pointer, key)) && this.#isThere(pointer + segment(key))
  }

  async #leaveOut(pointer: string): Promise<void> {
    const { states, control } = await this.#form.look(pointer)
    if (states.includes('absent')) await this.#form.setState(pointer, 'absent')
    else if (control === 'text') await this.#form.type(pointer, '')
  }

  async #radio(pointer: string, value: unknown, options: readonly string[]): Promise<void> {
    const at = placeOf(value, options)
    if (at >= 0) await this.#form.check(pointer, at)
    else
      for (let i = 0; i < options.length && !same(await this.#form.shown(pointer), value); i++)
        await this.#form.check(pointer, i)
  }

  async #list(pointer: string, value: unknown, options: readonly string[]): Promise<void> {
    const at = placeOf(value, options)
    if (at >= 0) await this.#form.pick(pointer, options[at]!)
    else
      for (const label of options) {
        if (same(await this.#form.shown(pointer), value)) return
        await this.#form.pick(pointer, label)
      }
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
