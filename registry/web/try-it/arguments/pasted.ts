import { parseJson, textOf } from '../../json/parse.ts'
import { type JsonNode, readJson, writtenJson } from '../../json/text.ts'
import { argsFromFragment } from './share-link.ts'

/** What somebody has at hand, and what of it are arguments: as JSON, or as the id of a job, which has them. */
export type Pasted =
  /** `from`: the beginning of what is told of it. */
  | { kind: 'args'; text: string; from: string }
  | { kind: 'job'; id: string; queue: string | undefined }
  | { kind: 'nothing' }

/**
 * Finds the arguments in JSON, in a line of a log, in a command of curl or pshub, in a link to this form, or in the address of a job.
 * Lines of pshub's own log have no arguments, but the ids of jobs.
 * @throws Error with a message for people, of a link that cannot be read
 */
export const readPasted = async (pasted: string): Promise<Pasted> => {
  const text = pasted.trim()
  const whole = nodeIn(text)
  if (whole) return ofNode(whole, text)
  const found = ofCommand(text) ?? (await ofAddress(text))
  if (found) return found
  for (const line of text.split('\n').slice(0, mostLines)) {
    const inLine = ofLine(line)
    if (inLine) return inLine
  }
  return { kind: 'nothing' }
}

const mostLines = 1000
const idPattern = /^[A-Za-z0-9_-]{22}$/

const nodeIn = (text: string): JsonNode | undefined => {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

/** Messages and lists of jobs have the arguments in them; a line of a log has the id. Everything else is the arguments. */
const ofNode = (node: JsonNode, text: string): Pasted => {
  if (node.kind === 'string' && idPattern.test(node.value)) return { kind: 'job', id: node.value, queue: undefined }
  if (node.kind !== 'object') return { kind: 'args', text, from: 'The JSON is' }
  const members = new Map(node.members)
  const wordOf = (name: string): string | undefined => {
    const member = members.get(name)
    return member?.kind === 'string' ? member.value : undefined
  }
  const args = members.get('args')
  if (args && wordOf('task') !== undefined) return argsOf(args, 'Its arguments are')
  const id = wordOf('id')
  const isOfLog = members.has('level') || members.has('msg') || wordOf('task') !== undefined
  if (isOfLog && id !== undefined && idPattern.test(id)) return { kind: 'job', id, queue: wordOf('queue') }
  return { kind: 'args', text, from: 'The JSON is' }
}

const argsOf = (node: JsonNode, from: string): Pasted => {
  const written = writtenJson(node)
  const parsed = parseJson(written)
  return { kind: 'args', text: parsed.ok ? textOf(parsed.value) : written, from }
}

/** Words of a shell's command line: quotes as sh has them, a line may go on behind a backslash. */
const shellWords = (line: string): string[] =>
  [...line.replaceAll(/\\\r?\n/g, ' ').matchAll(/(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\])+/g)].map(
    ([word]) =>
      word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) =>
        single === undefined ? (double === undefined ? escaped : double.replaceAll(/\\(["\\$`])/g, '$1')) : single,
      ),
  )

const bodyFlags = new Set(['-d', '--data', '--data-raw', '--data-binary', '--data-ascii', '--json'])

/** Of curl its body, of pshub its last word that is JSON. */
const ofCommand = (text: string): Pasted | undefined => {
  const command = /(?:^|[\s;&|$])(curl|pshub)\s/.exec(text.slice(0, 1000))
  if (!command) return undefined
  const words = shellWords(text.slice(command.index + command[0].indexOf(command[1]!)))
  if (words[0] === 'curl') {
    const at = words.findIndex(word => bodyFlags.has(word.replace(/=[\s\S]*/, '')))
    const body = words[at]?.includes('=') ? words[at].replace(/^[^=]*=/, '') : words[at + 1]
    const node = at < 0 || body === undefined ? undefined : nodeIn(body)
    return node ? ofBody(node) : undefined
  }
  if (words[1] !== 'call' && words[1] !== 'enqueue') return undefined
  const node = words
    .slice(2)
    .map(nodeIn)
    .findLast(found => found?.kind === 'object' || found?.kind === 'array')
  return argsOf(node ?? readJson('{}'), 'The arguments of the command are')
}

/** What is sent to be enqueued has the arguments within. */
const ofBody = (node: JsonNode): Pasted => {
  const members = node.kind === 'object' ? new Map(node.members) : undefined
  const isEnqueued = members?.has('args') && [...members.keys()].every(key => key === 'args' || key === 'options')
  return argsOf(isEnqueued ? members!.get('args')! : node, 'The arguments of the command are')
}

const ofAddress = async (text: string): Promise<Pasted | undefined> => {
  if (idPattern.test(text)) return { kind: 'job', id: text, queue: undefined }
  if (!/^(https?:\/\/|\/)\S+$/.test(text)) return undefined
  const { pathname, search, hash } = new URL(text, 'http://any.invalid/')
  const [, id] = /\/jobs\/([A-Za-z0-9_-]{22})$/.exec(pathname) ?? []
  if (id !== undefined) return { kind: 'job', id, queue: new URLSearchParams(search).get('queue') ?? undefined }
  const args = await argsFromFragment(hash)
  const node = args === undefined ? undefined : nodeIn(args)
  return node && argsOf(node, 'The arguments of the link are')
}

/** JSON behind a prefix, as collectors of logs add it; or `id=` as people's terminals show it. */
const ofLine = (line: string): Pasted | undefined => {
  const at = line.indexOf('{')
  const node = at < 0 ? undefined : nodeIn(line.slice(at, line.lastIndexOf('}') + 1))
  if (node?.kind === 'object') return ofNode(node, writtenJson(node))
  const id = /(?:^|[\s"'(])(?:id|job)[=: ]\s*"?([A-Za-z0-9_-]{22})(?![\w-])/.exec(line)?.[1]
  const queue = /\squeue=([A-Za-z0-9][\w.-]{0,63})(?=\s|$)/.exec(line)?.[1]
  return id === undefined ? undefined : { kind: 'job', id, queue }
}
