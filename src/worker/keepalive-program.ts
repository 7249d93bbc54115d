/**
 * What the thread of roles/keepalive.ts runs: a file of these sources; in the package its text, with all that it imports
 * (tools/embed.mjs), because files that lie beside the code get lost when that is bundled.
 */
export const keepaliveProgram: URL | string = new URL('./roles/keepalive-thread.mjs', import.meta.url)
