import { javascriptLiteral, jsonLiteral, pythonLiteral, rubyLiteral, shellWord } from '../../text/literals.ts'

/** A call as it stands in the form. */
export interface CallToWrite {
  task: string
  args: unknown
  /** Undefined: the task's own. */
  timeoutMs: number | undefined
  namespace: string
  /** Address of the gateway for this task. */
  url: string
}

export const snippets: readonly { name: string; of(call: CallToWrite): string }[] = [
  { name: 'curl', of: call => curlSnippet(call) },
  { name: 'pshub', of: call => cliSnippet(call) },
  { name: 'TypeScript', of: call => typescriptSnippet(call) },
  { name: 'Python', of: call => pythonSnippet(call) },
  { name: 'Ruby', of: call => rubySnippet(call) },
]

export const curlSnippet = ({ args, timeoutMs, url }: CallToWrite): string =>
  [
    `curl -sS ${shellWord(url)}`,
    `-H "authorization: Bearer $PSHUB_TOKEN"`,
    `-H 'content-type: application/json'`,
    ...(timeoutMs === undefined ? [] : [`-H 'pshub-timeout-ms: ${timeoutMs}'`]),
    `--data-raw ${shellWord(jsonLiteral(args))}`,
  ].join(' \\\n  ')

export const cliSnippet = ({ task, args, timeoutMs, namespace }: CallToWrite): string => {
  const json = jsonLiteral(args)
  const options = [
    ...(timeoutMs === undefined ? [] : [`--timeout ${timeoutMs}ms`]),
    ...(namespace === 'pshub' ? [] : [`--namespace ${shellWord(namespace)}`]),
  ]
    .map(option => ` ${option}`)
    .join('')
  // What begins with - would be taken for an option.
  return json.startsWith('-')
    ? `pshub call${options} -- ${shellWord(task)} ${shellWord(json)}`
    : `pshub call ${shellWord(task)} ${shellWord(json)}${options}`
}

export const typescriptSnippet = ({ task, args, timeoutMs, namespace }: CallToWrite): string => {
  const options = timeoutMs === undefined ? '' : `, { timeoutMs: ${timeoutMs} }`
  const inNamespace = namespace === 'pshub' ? '' : `{ namespace: ${javascriptLiteral(namespace)} }`
  return [
    'import { Hub } from "pshub"',
    '',
    `const hub = new Hub(${inNamespace})`,
    `const result = await hub.call(${javascriptLiteral(task)}, ${javascriptLiteral(args)}${options})`,
    'console.log(result)',
    'await hub.close()',
  ].join('\n')
}

export const pythonSnippet = ({ task, args, timeoutMs, namespace }: CallToWrite): string => {
  const timeout = timeoutMs === undefined ? '' : `, timeout=${timeoutMs / 1000}`
  const inNamespace = namespace === 'pshub' ? '' : `namespace=${pythonLiteral(namespace)}`
  return [
    'from pshub import Hub',
    '',
    `with Hub(${inNamespace}) as hub:`,
    `    result = hub.call(${pythonLiteral(task)}, ${indented(pythonLiteral(args), '    ')}${timeout})`,
    '    print(result)',
  ].join('\n')
}

export const rubySnippet = ({ task, args, timeoutMs, namespace }: CallToWrite): string => {
  const timeout = timeoutMs === undefined ? '' : `, timeout: ${timeoutMs / 1000}`
  const inNamespace = namespace === 'pshub' ? '' : `(namespace: ${rubyLiteral(namespace)})`
  return [
    'require "pshub"',
    '',
    `hub = Pshub::Hub.new${inNamespace}`,
    `result = hub.call(${rubyLiteral(task)}, ${rubyLiteral(args)}${timeout})`,
    'p result',
    'hub.close',
  ].join('\n')
}

/** Literals hold no line breaks within texts, so every one of them is between two lines of code. */
const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`)
