import { withQuery } from '../address/query.ts'

/** As long as the service takes them; an address may have more. */
const mostLengths = { task: 256, code: 64, phase: 20, text: 200 }

/** With its `?`, where anything is asked for. */
export const callsQuery = (asked: Partial<Record<keyof typeof mostLengths, string>>): string =>
  withQuery(
    {},
    Object.fromEntries(
      Object.entries(asked).map(([name, text]) => [
        name,
        text.trim().slice(0, mostLengths[name as keyof typeof mostLengths]),
      ]),
    ),
  )
