// The web process: one hub, one HTTP server. Started by the demo, which tells it everything through the environment.
import { Hub } from 'pshub'
import { warmUp } from './calls.mjs'
import { listen, makeServer } from './server.mjs'

const host = process.env.HOST || '127.0.0.1'
const wished = process.env.PORT || undefined

const refuse = sentence => {
  console.error(sentence)
  process.exit(1)
}

if (wished !== undefined && !(/^\d{1,5}$/.test(wished) && Number(wished) <= 65535)) {
  refuse(`PORT must be a number from 0 to 65535, not '${wished}'.`)
}

const hub = new Hub({ name: 'demo web' })
const server = makeServer(hub)

const listenError = error => {
  if (error.code === 'EADDRINUSE' && wished)
    return `Port ${wished} is taken. Give another one in PORT, or none to let the demo find one.`
  if (error.code === 'EADDRINUSE') return 'The ports from 3000 to 3019 are all taken. Give a free one in PORT.'
  return `The web server cannot listen on ${host}: ${error.message}`
}

try {
  await warmUp(hub)
  const port = await listen(server, { host, port: wished && Number(wished), from: 3000, tries: 20 })
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  process.send?.({ address, port })
} catch (error) {
  refuse(listenError(error))
}

/** Pages that are being made are finished; connections that browsers only keep open are closed. */
const stop = async () => {
  server.close()
  server.closeIdleConnections()
  setTimeout(() => server.closeAllConnections(), 1000).unref()
  await new Promise(resolve => server.on('close', resolve))
  await hub.close()
  process.exit(0)
}

process.once('SIGTERM', stop)
process.once('SIGINT', stop)
