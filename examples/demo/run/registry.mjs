// The registry beside the demo: its tasks live, and a form to run each of them.
import { startRegistry } from 'pshub-registry'

/**
 * @param {{ url: string }} redis
 * @returns {Promise<{ address: string, close(): Promise<void> }>} the address lets in whoever has it, if no token is set
 * @throws an Error that says which port is taken
 */
export const openRegistry = async redis => {
  const { PSHUB_REGISTRY_PORT: port, PSHUB_LOG_LEVEL: logLevel = 'silent' } = process.env
  try {
    const { url, token, close } = await startRegistry({ redis: redis.url, logLevel, ...(port ? {} : { port: 0 }) })
    return { address: token === undefined ? url : `${url}#token=${token}`, close }
  } catch (error) {
    if (error.code === 'EADDRINUSE') throw new Error(`Port ${port} is taken. Set PSHUB_REGISTRY_PORT to another one.`)
    throw error
  }
}
