import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, loadAssets } from './assets.ts'
import { isSafe } from './guard.ts'
import { Refusal } from './refusal.ts'

/** Names of built files carry a digest of their content. */
const forever = 'public, max-age=31536000, immutable'

const access = { config: { registryAccess: 'page' as const } }

/** Addresses that the pages' own router knows. Names of tasks have slashes, and ids of workers may be long. */
const paths = [
  '/',
  '/login',
  '/tasks',
  '/tasks/*',
  '/workers',
  '/workers/*',
  '/queues',
  '/queues/:queue',
  '/jobs',
  '/jobs/:job',
  '/key',
  '/schedules',
  '/failures',
  '/slow',
  '/api-reference',
]

/** The one HTML page, under each of its addresses, and its files. */
export const addPages = (app: FastifyInstance, { answersUnknown }: { answersUnknown: boolean }): void => {
  const { page, assets } = loadAssets()
  const base = `${app.prefix}/`
  const html = page.replaceAll('./assets/', `${base}assets/`).replace('content="/"', `content="${base}"`)
  const sendPage = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.type('text/html; charset=utf-8').send(html)
  for (const path of paths) app.get(path, access, sendPage)
  app.get<{ Params: { '*': string } }>('/assets/*', access, async (request, reply) => {
    const asset = assets.get(request.params['*'])
    if (!asset) throw new Refusal(404, 'NotFound', 'There is no such file.')
    return sendAsset(request, reply, asset)
  })
  if (!answersUnknown) return
  // People get the page, which says that there is nothing; programs an error.
  app.setNotFoundHandler(async (request, reply) => {
    const path = request.url.slice(base.length - 1)
    if (isSafe(request.method) && !path.startsWith('/api/')) return sendPage(request, reply.code(404))
    throw new Refusal(404, 'NotFound', `There is nothing for ${request.method} at this address.`)
  })
}

const sendAsset = (
  request: FastifyRequest,
  reply: FastifyReply,
  { type, body, gzipped, etag }: Asset,
): FastifyReply => {
  reply.header('cache-control', forever).header('etag', etag).header('vary', 'accept-encoding').type(type)
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(body)
  return reply.header('content-encoding', 'gzip').send(gzipped)
}
