import { ConfigError } from 'pshub'

const sdk = '@modelcontextprotocol/sdk'

/**
 * A part of the SDK, which is as large as all the rest together and is installed by those who use it.
 * @throws ConfigError where it is not installed
 */
const late = async <T>(load: () => Promise<T>): Promise<T> => {
  try {
    return await load()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(sdk)) throw error
    throw new ConfigError(`Tools for agents need the package ${sdk}, which is not installed: npm install ${sdk}@1`)
  }
}

/** What both transports need. */
export const loadServer = () =>
  late(async () => {
    const [{ Server }, types, { AjvJsonSchemaValidator }] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
      import('@modelcontextprotocol/sdk/validation/ajv-provider.js'),
    ])
    // Servers check nothing by it, and would each make one of their own.
    return { Server, types, AjvJsonSchemaValidator, validator: new AjvJsonSchemaValidator() }
  })
export type Sdk = Awaited<ReturnType<typeof loadServer>>

export const loadHttpTransport = () =>
  late(async () => (await import('@modelcontextprotocol/sdk/server/streamableHttp.js')).StreamableHTTPServerTransport)
