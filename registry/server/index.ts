export { type HandlerOptions, type RegistryHandler, registryHandler } from './handler.ts'
export { type RegistryOptions, registry } from './plugin.ts'
export { type RunningRegistry, type StandaloneOptions, startRegistry } from './standalone.ts'
