import { javascriptLiteral, jsonLiteral, pythonLiteral, rubyLiteral, shellWord } from '../../json/literals.ts'
import { type CallChoices, headersOf } from '../run/call-choices.ts'

/** A call as it stands in the form. */
export interface CallToWrite extends CallChoices {
  task: string
  args: unknown
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

export const curlSnippet = ({ args, url, ...choices }: CallToWrite): string =>
  [
    `curl -sS ${shellWord(url)}`,
    `-H "authorization: Bearer $PSHUB_TOKEN"`,
    `-H 'content-type: application/json'`,
    ...Object.entries(headersOf(choices)).map(([name, value]) => `-H '${name}: ${value.replaceAll("'", "'\\''")}'`),
    `--data-raw ${shellWord(jsonLiteral(args))}`,
  ].join(' \\\n  ')

export const cliSnippet = ({ task, args, timeoutMs, queue, namespace }: CallToWrite): string => {
  const json = jsonLiteral(args)
  const options = [
    ...(timeoutMs === undefined ? [] : [`--timeout ${timeoutMs}ms`]),
    ...(queue === undefined ? [] : [`--queue ${shellWord(queue)}`]),
    ...(namespace === 'pshub' ? [] : [`--namespace ${shellWord(namespace)}`]),
  ]
    .map(option => ` ${option}`)
    .join('')
  // What begins with - would be taken for an option.
  return json.startsWith('-')
    ? `pshub call${options} -- ${shellWord(task)} ${shellWord(json)}`
    : `pshub call ${shellWord(task)} ${shellWord(json)}${options}`
}

export const typescriptSnippet = ({ task, args, namespace, ...choices }: CallToWrite): string => {
  const options = named(choices, {
    timeoutMs: ms => `timeoutMs: ${ms}`,
    word: (name, value) => `${name}: ${javascriptLiteral(value)}`,
  })
  const inNamespace = namespace === 'pshub' ? '' : `{ namespace: ${javascriptLiteral(namespace)} }`
  return [
    'import { Hub } from "pshub"',
    '',
    `const hub = new Hub(${inNamespace})`,
    `const result = await hub.call(${javascriptLiteral(task)}, ${javascriptLiteral(args)}${options.length === 0 ? '' : `, { ${options.join(', ')} }`})`,
    'console.log(result)',
    'await hub.close()',
  ].join('\n')
}

export const pythonSnippet = ({ task, args, namespace, ...choices }: CallToWrite): string => {
  const options = named(choices, {
    timeoutMs: ms => `timeout=${ms / 1000}`,
    word: (name, value) => `${name}=${pythonLiteral(value)}`,
  })
  const inNamespace = namespace === 'pshub' ? '' : `namespace=${pythonLiteral(namespace)}`
  return [
    'from pshub import Hub',
    '',
    `with Hub(${inNamespace}) as hub:`,
    `    result = hub.call(${pythonLiteral(task)}, ${indented(pythonLiteral(args), '    ')}${options.map(option => `, ${option}`).join('')})`,
    '    print(result)',
  ].join('\n')
}

export const rubySnippet = ({ task, args, namespace, ...choices }: CallToWrite): string => {
  const options = named(choices, {
    timeoutMs: ms => `timeout: ${ms / 1000}`,
    word: (name, value) => `${name}: ${rubyLiteral(value)}`,
  })
  const inNamespace = namespace === 'pshub' ? '' : `(namespace: ${rubyLiteral(namespace)})`
  return [
    'require "pshub"',
    '',
    `hub = Pshub::Hub.new${inNamespace}`,
    `result = hub.call(${rubyLiteral(task)}, ${rubyLiteral(args)}${options.map(option => `, ${option}`).join('')})`,
    'p result',
    'hub.close',
  ].join('\n')
}

/** The choices that were made, each as a language writes it. */
const named = (
  { timeoutMs, queue, traceparent, tracestate }: CallChoices,
  write: { timeoutMs(ms: number): string; word(name: string, value: string): string },
): string[] => [
  ...(timeoutMs === undefined ? [] : [write.timeoutMs(timeoutMs)]),
  ...(queue === undefined ? [] : [write.word('queue', queue)]),
  ...(traceparent === '' ? [] : [write.word('traceparent', traceparent)]),
  ...(tracestate === '' ? [] : [write.word('tracestate', tracestate)]),
]

/** Literals hold no line breaks within texts, so every one of them is between two lines of code. */
const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`)
