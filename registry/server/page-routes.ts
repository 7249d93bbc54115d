import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, loadAssets } from './assets.ts'

/** Names of built files carry a digest of their content. */
const forever = 'public, max-age=31536000, immutable'

/** The one HTML page, under each address that its router knows, and its files. */
export const pageRoutes = async (app: FastifyInstance): Promise<void> => {
  const { page, assets } = loadAssets()
  const base = `${app.prefix}/`
  const html = page.replaceAll('./assets/', `${base}assets/`).replace('content="/"', `content="${base}"`)
  const sendPage = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.type('text/html; charset=utf-8').send(html)
  for (const path of ['/', '/login', '/tasks', '/tasks/:task', '/workers', '/queues', '/queues/:queue'])
    app.get(path, sendPage)
  app.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const asset = assets.get(request.params.name)
    if (!asset) return reply.callNotFound()
    return sendAsset(request, reply, asset)
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
