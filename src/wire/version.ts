import { readFileSync } from 'node:fs'

/** This package's version; package.json is the one place that states it. The build puts it in here (tools/embed.mjs). */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
