import {
  type ErrorCode,
  errorTable,
  type JsonSchema,
  movedSchema,
  type Overview,
  type TaskOverview,
  version,
  whyUnusable,
} from 'pshub'
import { taskInAddress } from '../call-contract.ts'
import { streamTypes } from './call-stream.ts'
import { isCallable } from './callable.ts'

interface About {
  /** Where the service is, as whoever asks sees it. */
  server: string
  namespace: string
}

/** All schemas of a document together, in characters of JSON; what comes after is left open. */
const maxSchemasLength = 8 * 1024 * 1024

/** An OpenAPI 3.1 description of the gateway: one operation for each task that a live worker provides and that can be called. */
export const openApiDocument = ({ tasks }: Overview, { server, namespace }: About): object => {
  const schemas = new Schemas()
  const paths = tasks
    .filter(isCallable)
    .map(task => [`/api/call/${taskInAddress(task.task)}`, { post: operation({ ...task, ...task.exact }, schemas) }])
  return {
    openapi: '3.1.0',
    info: {
      title: `Tasks of ${namespace}`,
      version,
      description: 'Each operation calls a task and responds when a worker has run it.',
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: server }],
    security: [{ token: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: { ...schemas.all, Error: errorSchema },
      responses: errorResponses,
      parameters,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of the role run or admin.' } },
    },
  }
}

const operation = (
  { task, description, args, result, yields, idempotent, dangerous, timeoutMs, queue }: TaskOverview,
  schemas: Schemas,
) => {
  const operationId = schemas.freeName(task)
  return {
    operationId,
    summary: (/\S.*/.exec(description)?.[0] ?? task).slice(0, 160),
    ...(dangerous === undefined ? {} : { 'x-pshub-dangerous': dangerous }),
    ...(yields === undefined
      ? {}
      : { 'x-pshub-yields': yields === true || schemas.add(`${operationId}_chunk`, yields) }),
    description:
      `${description}${dangerText(dangerous)}\n\nQueue ${queue}, ${idempotent ? 'idempotent' : 'not idempotent'}, waits ${timeoutMs} ms.`.trim(),
    tags: [queue],
    parameters: Object.keys(parameters).map(name => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: { required: args !== undefined, content: json(schemas.add(`${operationId}_args`, args)) },
    responses: {
      200: {
        description: 'The result.',
        headers: resultHeaders,
        content: {
          ...json(schemas.add(`${operationId}_result`, result)),
          ...(yields === undefined ? {} : streamContent),
        },
      },
      ...Object.fromEntries(
        Object.keys(errorResponses).map(name => [name.slice(1), { $ref: `#/components/responses/${name}` }]),
      ),
    },
  }
}

const dangerText = (danger: string | true | undefined): string => {
  if (danger === undefined) return ''
  return danger === true ? '\n\nDangerous: it needs a confirmation.' : `\n\nDangerous: ${danger}`
}

const json = (schema: object) => ({ 'application/json': { schema } })

/** What a task that yields may be asked for by `accept`. OpenAPI 3.1 has no words for what the parts of such a body are. */
const streamContent = Object.fromEntries(
  streamTypes.map(type => [
    type,
    {
      schema: {
        type: 'string',
        description:
          'Parts as they arrive, each as JSON: { chunk }, { progress }, and last { result } or { error }. x-pshub-yields has the schema of a chunk.',
      },
    },
  ]),
)

/** The components, which names of tasks alone might not tell apart. */
class Schemas {
  readonly all: Record<string, object> = {}
  readonly #names = new Set(['Error'])
  #length = 0

  freeName(wanted: string): string {
    const name = wanted.replace(/[^A-Za-z0-9_.-]/g, '_')
    let free = name
    for (let count = 2; this.#names.has(free); count++) free = `${name}_${count}`
    this.#names.add(free)
    return free
  }

  /** A reference to the schema; what cannot be used is open to anything, and says why. */
  add(wanted: string, schema: JsonSchema | undefined): object {
    if (schema === undefined) return {}
    const name = this.freeName(wanted)
    const base = `#/components/schemas/${name}`
    this.all[name] = this.#fit(schema, base)
    return { $ref: base }
  }

  #fit(schema: JsonSchema, base: string): object {
    const why = whyUnusable(schema)
    if (why !== undefined) return left(why)
    const moved = movedSchema(schema, base)
    if (!moved) return left('it refers to a missing part')
    this.#length += JSON.stringify(moved).length
    return this.#length > maxSchemasLength ? left('the document is too long for it') : moved
  }
}

const left = (why: string): object => ({ $comment: `The schema of the registry is not used: ${why}.` })

const parameters = {
  timeout: {
    name: 'pshub-timeout-ms',
    in: 'header',
    description: "Maximum wait in milliseconds. Default: the task's own timeout.",
    schema: { type: 'integer', minimum: 1, maximum: 600_000 },
  },
  queue: {
    name: 'pshub-queue',
    in: 'header',
    description: 'Queue to call. Default: the first queue of the task, while it has live workers.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' },
  },
  traceparent: { name: 'traceparent', in: 'header', description: 'W3C trace context.', schema: { type: 'string' } },
}

const resultHeaders = {
  'server-timing': { description: 'Time of each part in milliseconds.', schema: { type: 'string' } },
  'pshub-phases': { description: 'The same as JSON, in microseconds.', schema: { type: 'string' } },
}

const errorSchema = {
  type: 'object',
  description: 'Problem details, RFC 9457.',
  required: ['title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', description: 'urn:problem-type:pshub:<code>, of a code of pshub.' },
    title: { type: 'string', description: 'What the code means.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is the matter this time.' },
    code: { type: 'string', description: "A code of pshub, or one of the task's own." },
    ran: { enum: ['no', 'maybe', 'yes'], description: 'Whether the task was started.' },
    retryable: { type: 'boolean' },
    task: { type: 'string' },
    id: { type: 'string' },
    data: { description: 'For InvalidArgs and InvalidResult { problems: [{ pointer, message }] }.' },
  },
}

/** Of the gateway itself, by status. */
const ownErrors: Record<number, string> = {
  400: 'BadRequest: the body or a header cannot be read.',
  401: 'Unauthorized: the token is missing or wrong.',
  403: 'Forbidden: the role may not run tasks, or this task may not be run here.',
  413: 'PayloadTooLarge: the body is larger than the gateway accepts.',
  415: 'UnsupportedMediaType: the body is not declared as JSON.',
  429: 'TooManyRequests: this token starts too many runs.',
}

const errorContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Error' } } }
const ofTheTask = "A failure with a code and a status chosen by the task's handler."

/** Components of responses, `e404` for the status 404. Whoever aborts a call does not read its answer. */
const errorResponses = Object.fromEntries([
  ...[...new Set([...Object.keys(ownErrors).map(Number), ...Object.values(errorTable).map(({ status }) => status)])]
    .filter(status => status !== errorTable.Aborted.status)
    .sort((a, b) => a - b)
    .map(status => {
      const codes = (Object.keys(errorTable) as ErrorCode[]).filter(code => errorTable[code].status === status)
      const lines = codes.map(code => `${code}: ${errorTable[code].meaning}`)
      const description = [...(ownErrors[status] ? [ownErrors[status]] : []), ...lines].join('\n\n')
      return [`e${status}`, { description, content: errorContent }]
    }),
  ...['4XX', '5XX'].map(range => [`e${range}`, { description: ofTheTask, content: errorContent }]),
])
