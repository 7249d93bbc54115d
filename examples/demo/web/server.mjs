// The HTTP server around the routes: headers, the visitor who leaves early, and the error nobody foresaw.
import { createServer } from 'node:http'
import { plainPage } from './other-pages.mjs'
import { answer } from './routes.mjs'

/** No script runs on these pages, and nothing is loaded from elsewhere. */
const contentPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const safety = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const send = (
  response,
  { status, type = 'text/plain; charset=utf-8', body = '', cache = 'no-store', location, allow },
) => {
  response.writeHead(status, {
    ...safety,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': cache,
    ...(location && { location }),
    ...(allow && { allow }),
  })
  response.end(body)
}

const failure = (status, title, text) => ({ status, type: 'text/html; charset=utf-8', body: plainPage(title, text) })

const addressOf = text => {
  try {
    return new URL(text, 'http://demo.invalid')
  } catch {
    return undefined
  }
}

/** @param {import('pshub').Hub} hub */
export const makeServer = hub =>
  createServer(async (request, response) => {
    const visitor = new AbortController()
    response.on('close', () => visitor.abort())
    try {
      const url = addressOf(request.url)
      if (!url) return send(response, failure(400, 'Not an address', 'This address cannot be read.'))
      send(response, await answer({ hub, url, method: request.method, signal: visitor.signal }))
    } catch (error) {
      console.error(`The page ${request.url} failed: ${error.message}`)
      if (!response.headersSent) send(response, failure(500, 'That went wrong', 'The page could not be put together.'))
    }
  })

const listenOn = (server, port, host) =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve(server.address().port)
    })
  })

/**
 * @param {import('node:http').Server} server
 * @param {{ host: string, port?: number, from: number, tries: number }} wish a port, or where to begin to look for one
 * @returns {Promise<number>} the port it listens on
 */
export const listen = async (server, { host, port, from, tries }) => {
  if (port !== undefined) return listenOn(server, port, host)
  for (let candidate = from; ; candidate++) {
    try {
      return await listenOn(server, candidate, host)
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || candidate >= from + tries - 1) throw error
    }
  }
}
