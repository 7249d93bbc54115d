/** What to do about calls that ended so in their hubs. */
const remedies: Record<string, string> = {
  Overloaded: 'Calls arrive faster than the workers serve them: start more workers, or give them more slots.',
  NoWorkers: 'Start a worker that provides the task.',
  NoSuchTask: 'No worker ever declared it: check the name and the version that callers use.',
  Timeout: 'No reply came in time: check the backlog and the run time of the handler.',
  NotEnqueued: 'The request did not reach Redis: check whether it is down, full, or denies access to this user.',
  OutcomeUnknown: 'The connection to Redis broke: check whether Redis restarted.',
  InvalidArgs: 'The arguments do not match the schema: check the callers.',
  PayloadTooLarge: 'The arguments are larger than the queue accepts.',
}

export const remedyOf = (code: string): string =>
  (Object.hasOwn(remedies, code) ? remedies[code] : undefined) ?? 'Check the failures of the task.'
