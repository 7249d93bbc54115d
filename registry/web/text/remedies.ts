/** What to do about calls that ended so in their hubs. */
const remedies: Record<string, string> = {
  Overloaded: 'More comes than the workers serve: start more of them, or give them more slots.',
  NoWorkers: 'Start a worker that provides the task.',
  NoSuchTask: 'No worker ever declared it: look at the name and the version that callers ask for.',
  Timeout: 'No reply came in time: look at the backlog and at how long the handler takes.',
  NotEnqueued: 'The request did not reach Redis: see whether it is away, full, or refuses this user.',
  OutcomeUnknown: 'The connection to Redis broke: see whether it restarted.',
  InvalidArgs: 'The arguments do not fit the schema: look at who calls.',
  PayloadTooLarge: 'The arguments are larger than the queue takes.',
}

export const remedyOf = (code: string): string =>
  (Object.hasOwn(remedies, code) ? remedies[code] : undefined) ?? 'See the failures of the task.'
