import { pageOf } from '../address/query.ts'

/** What can be asked of the gateway for one task, as the OpenAPI document says. */
export interface Route {
  method: string
  path: string
  /** `name:version` */
  task: string
  summary: string
  description: string
  queue: string
  headers: { name: string; description: string }[]
  args: unknown
  result: unknown
  errors: { status: string; description: string }[]
}

/** Steps of references that are followed, so that a circle ends. */
const maxHops = 4

type Loose = Record<string, unknown>
const isLoose = (value: unknown): value is Loose => typeof value === 'object' && value !== null && !Array.isArray(value)
const own = (value: unknown, key: string): unknown =>
  isLoose(value) && Object.hasOwn(value, key) ? value[key] : undefined
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const prefix = '/api/call/'

/** The routes of the document, by name; what is none is left out. */
export const routesIn = (document: unknown): Route[] => {
  const found = (value: unknown): unknown => {
    let at = value
    for (let hop = 0; hop < maxHops && typeof own(at, '$ref') === 'string'; hop++)
      at = textOf(own(at, '$ref')).slice('#/'.length).split('/').reduce<unknown>(own, document)
    return at
  }
  const schemaOf = (message: unknown): unknown =>
    alone(own(own(own(message, 'content'), 'application/json'), 'schema'), found)
  const paths = own(document, 'paths')
  return Object.entries(isLoose(paths) ? paths : {})
    .filter(([path, item]) => path.startsWith(prefix) && isLoose(own(item, 'post')))
    .map(([path, item]) => {
      const post = own(item, 'post')
      const responses = own(post, 'responses')
      return {
        method: 'POST',
        path,
        task: decoded(path.slice(prefix.length)),
        summary: textOf(own(post, 'summary')),
        description: textOf(own(post, 'description')),
        queue: textOf(listOf(own(post, 'tags'))[0]),
        headers: listOf(own(post, 'parameters'))
          .map(found)
          .map(header => ({ name: textOf(own(header, 'name')), description: textOf(own(header, 'description')) })),
        args: schemaOf(own(post, 'requestBody')),
        result: schemaOf(own(responses, '200')),
        errors: Object.entries(isLoose(responses) ? responses : {})
          .filter(([status]) => status !== '200')
          .map(([status, response]) => ({
            status,
            description: textOf(own(found(response), 'description')).replaceAll('\n\n', '\n'),
          })),
      }
    })
}

/** What a reference names, as if it were alone: its own references begin at it again. Undefined: nothing is declared. */
const alone = (schema: unknown, found: (value: unknown) => unknown): unknown => {
  const ref = own(schema, '$ref')
  if (typeof ref === 'string') return withRefsFrom(found(schema), ref)
  return isLoose(schema) && Object.keys(schema).length === 0 ? undefined : schema
}

const withRefsFrom = (value: unknown, base: string): unknown => {
  if (Array.isArray(value)) return value.map(item => withRefsFrom(item, base))
  if (!isLoose(value)) return value
  const moved = Object.entries(value).map(([key, inner]) => {
    const isRef = key === '$ref' && typeof inner === 'string' && (inner === base || inner.startsWith(`${base}/`))
    return [key, isRef ? `#${inner.slice(base.length)}` : withRefsFrom(inner, base)]
  })
  return Object.fromEntries(moved)
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const routesPerPage = 50

/** What is found of all routes, and those of the page that is shown. */
export const routePage = (routes: readonly Route[], query: Readonly<Record<string, string>>) => {
  const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const found = routes.filter(({ task, summary, queue }) => {
    const text = `${task} ${queue} ${summary}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
  const pages = Math.max(1, Math.ceil(found.length / routesPerPage))
  const page = pageOf(query.page, pages)
  return { found, shown: found.slice((page - 1) * routesPerPage, page * routesPerPage), page, pages }
}
