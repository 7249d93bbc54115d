export { type HandlerOptions, type RegistryHandler, registryHandler } from './handler.ts'
export { type RunningTools, serveToolsOverStdio, type ToolsOverStdioOptions } from './mcp/stdio.ts'
export { type RegistryOptions, registry } from './plugin.ts'
export { type RunningRegistry, type StandaloneOptions, startRegistry } from './standalone.ts'
