import type { Refs } from '../../registry/schema/refs.ts'
import { arrayViewOf } from '../../registry/web/form/model/array-view.ts'
import { anything, branchOf } from '../../registry/web/form/model/branches.ts'
import { own, type Path, toPointer } from '../../registry/web/form/model/json.ts'
import { parseNumber } from '../../registry/web/form/model/number-text.ts'
import { type ObjectView, objectViewOf } from '../../registry/web/form/model/object-view.ts'
import { isGroupView, type Opening, openingOf, type State, statesOf } from '../../registry/web/form/model/opening.ts'
import { type Branch, shows, type View, viewOf } from '../../registry/web/form/model/view.ts'
import { parseJson } from '../../registry/web/json/parse.ts'

/** As the controls have them: so many are drawn before somebody asks for more. */
const maxDepth = 32
const maxFields = 200
const maxItems = 100
const maxListed = 200
const maxRadios = 5

/** What a typed text says: a value, or none that it could be; nothing is wrong yet with a search that has not begun. */
export type Text = { value: unknown } | { problem: string | undefined }

/** What takes a value that is typed or picked. */
export interface Taker {
  readonly look: 'text' | 'json' | 'file' | 'select' | 'radio'
  /** Labels to choose from. */
  readonly options: readonly { label: string; value: unknown }[]
  /** What a typed text says. */
  read(text: string): Text
}

/** A kind to choose from several; `key` names it for what is kept of it. */
export interface Choice {
  readonly key: string
  readonly branches: readonly Branch[]
  readonly listed: readonly Branch[]
  readonly at: number
}

/** What is drawn at one pointer. */
export interface Spot {
  readonly key: string
  readonly path: Path
  readonly schema: unknown
  readonly value: unknown
  readonly view: View
  readonly kept: boolean
  readonly opening: Opening
  readonly states: readonly State[]
  readonly now: State
  choice?: Choice
  taker?: Taker & { key: string }
  constant?: { value: unknown; isGiven: boolean }
  object?: ObjectView
  list?: ReturnType<typeof arrayViewOf>
  items: number
}

/** What the parts of a form remember from one drawing to the next, by their keys. */
export interface Memory {
  readonly epoch: number
  readonly refs: Refs
  readonly asked: Map<string, number>
  readonly branches: Map<string, { epoch: number; at: number }>
  /** Texts that are no values yet. */
  readonly drafts: Map<string, { epoch: number; value: unknown; text: string }>
}

interface Place {
  readonly schema: unknown
  readonly value: unknown
  readonly path: Path
  readonly required: boolean
  readonly kept: boolean
  readonly key: string
}

/** What a form would show of a value: one spot for each field, and what is wrong with texts that are no values. */
export class Drawing {
  readonly spots = new Map<string, Spot>()
  readonly texts = new Map<string, string>()
  /** Of all fields and controls that are drawn. */
  readonly keys = new Set<string>()
  /** The branch shown at each choice, as the checks want to know it. */
  readonly chosen = new Map<string, number>()
  readonly #memory: Memory

  constructor(memory: Memory, schema: unknown, value: unknown) {
    this.#memory = memory
    this.#field({ schema, value, path: [], required: true, kept: true, key: '' })
  }

  #field(place: Place): void {
    const { schema, value, path, required, kept, key } = place
    const { refs, asked, epoch } = this.#memory
    this.keys.add(key)
    const view = viewOf(schema, refs)
    const opening = openingOf(view, { value, depth: path.length, required, isAsked: asked.get(key) === epoch })
    const { now, offered } = statesOf(view, { value, required, isOpened: opening.isOpened })
    const states = opening.isSealed ? [] : offered
    const spot: Spot = { key, path, schema, value, view, kept, opening, states, now, items: 0 }
    this.spots.set(toPointer(path), spot)
    if (!opening.isClosed) this.#control(view, spot, key)
  }

  #control(view: View, spot: Spot, key: string): void {
    const { value, path } = spot
    this.keys.add(key)
    if (value === null && view.nullable) return
    if (path.length > maxDepth || !shows(view, value)) this.#taker(spot, key, json)
    else if (view.kind === 'null') this.#constant(spot, key, null)
    else if (view.kind === 'fixed') this.#constant(spot, key, view.fixed)
    else if (view.kind === 'options') this.#taker(spot, key, optionsOf(view.options))
    else if (view.kind === 'number') this.#taker(spot, key, number)
    else if (view.kind === 'text') this.#taker(spot, key, textOf(view.text, value))
    else if (view.kind === 'object') this.#object(view, spot, key)
    else if (view.kind === 'array') this.#list(view, spot, key)
    else if (view.kind === 'choice') this.#choice(view.branches, spot, key)
    else if (view.kind === 'any') this.#choice(anything, spot, key)
    else if (value !== undefined) this.#taker(spot, key, json)
  }

  #constant(spot: Spot, key: string, constant: unknown): void {
    const isGiven = spot.value !== undefined
    if (isGiven && JSON.stringify(spot.value) !== JSON.stringify(constant)) this.#taker(spot, key, json)
    else spot.constant = { value: constant, isGiven }
  }

  /** A text in progress counts as long as the value is the one it was typed beside. */
  #taker(spot: Spot, key: string, taker: Taker): void {
    const { epoch, drafts } = this.#memory
    spot.taker = { ...taker, key }
    const draft = drafts.get(key)
    const isMine = draft?.epoch === epoch && Object.is(draft.value, spot.value)
    const text = isMine ? draft.text : taker === json ? (JSON.stringify(spot.value) ?? '') : ''
    const read = taker.read(text)
    if ('problem' in read && read.problem !== undefined) this.texts.set(toPointer(spot.path), read.problem)
  }

  #object(view: View, spot: Spot, key: string): void {
    const object = objectViewOf(view.flat, spot.value, this.#memory.refs)
    spot.object = object
    const part = (name: string) => ({ value: own(spot.value, name), path: [...spot.path, name] })
    for (const { name, schema, required } of object.fields.slice(0, maxFields))
      this.#field({ ...part(name), schema, required, kept: false, key: `${key}/${name}` })
    for (const name of object.extra.slice(0, maxFields))
      this.#field({
        ...part(name),
        schema: object.entrySchema(name),
        required: true,
        kept: true,
        key: `${key}/${name}`,
      })
  }

  #list(view: View, spot: Spot, key: string): void {
    const list = arrayViewOf(view.flat)
    const items = (spot.value as readonly unknown[] | undefined) ?? []
    spot.list = list
    spot.items = Math.min(items.length, maxItems)
    for (const [i, value] of items.slice(0, maxItems).entries()) {
      const inner = { schema: list.itemSchema(i), value, path: [...spot.path, i], key: `${key}/${i}` }
      this.#field({ ...inner, required: true, kept: true })
    }
  }

  #choice(branches: readonly Branch[], spot: Spot, key: string): void {
    const { epoch, refs, branches: known } = this.#memory
    const { value } = spot
    let state = known.get(key)
    if (state?.epoch !== epoch || (state.at < 0 && value !== undefined))
      state = { epoch, at: branchOf(branches, value, refs) }
    known.set(key, state)
    const { at } = state
    const listed = branches.length > maxListed ? branches.slice(0, maxListed) : branches
    // Of a choice within a choice the outer one is seen first.
    spot.choice ??= { key, branches, listed, at }
    const branch = branches[at]
    if (!branch) return
    this.#control(viewOf(branch.schema, refs), spot, `${key}|${at}`)
    this.chosen.set(toPointer(spot.path), branch.index)
  }
}

/** Without a text there is no value. */
const unlessEmpty =
  (parse: (text: string) => Text) =>
  (text: string): Text => {
    return text.trim() === '' ? { value: undefined } : parse(text)
  }

const readTyped = (text: string): Text => {
  const parsed = parseJson(text)
  return parsed.ok
    ? { value: parsed.value }
    : { problem: `is not used: line ${parsed.line}, column ${parsed.column}: ${parsed.message}` }
}
const json: Taker = { look: 'json', options: [], read: unlessEmpty(readTyped) }
const number: Taker = { look: 'text', options: [], read: unlessEmpty(parseNumber) }

const optionsOf = (options: readonly { label: string; value: unknown }[]): Taker => {
  if (options.length <= maxListed)
    return { look: options.length <= maxRadios ? 'radio' : 'select', options, read: () => ({ value: undefined }) }
  const read = (text: string): Text => {
    const found = options.find(option => option.label === text)
    return found ?? { problem: text === '' ? undefined : `is none of the ${options.length} values` }
  }
  return { look: 'text', options: [], read }
}

/** A field of one line drops breaks, unless the text came with them: it has lines then. A secret of several lines is pasted. */
const textOf = (kind: string, value: unknown): Taker => {
  if (kind === 'file') return { look: 'file', options: [], read: text => ({ value: text }) }
  const hasLines = kind === 'lines' || kind === 'secret' || /[\r\n]/.test(String(value ?? ''))
  const read = (text: string): Text => ({
    value: hasLines ? text.replace(/\r\n?/g, '\n') : text.replace(/[\r\n]/g, ''),
  })
  return { look: 'text', options: [], read }
}

/** Whether it takes the focus: a control, what gives a constant, a state, a choice or a frame. */
export const isOperable = (spot: Spot): boolean =>
  Boolean(spot.taker ?? spot.choice ?? spot.constant) || spot.states.length > 0 || isGroupView(spot.view)
