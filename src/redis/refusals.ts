/** What Redis' error answers mean and what to do about them, by their first word; the one place that words it. */
const advice: readonly [RegExp, string][] = [
  [/^WRONGPASS/, 'Redis rejected this user or password; correct them in the URL, redis://user:password@host'],
  [/^NOAUTH/, 'Redis requires a password; put it into the URL, redis://user:password@host'],
  [
    /^ERR Function not found/,
    "this Redis does not have pshub's library, and this user may not load it; run 'pshub install' as a user who may",
  ],
  [/unknown command.{0,3}\bFCALL\b/i, 'this server is too old, or is not Redis; Redis 7.0 or newer is required'],
  [
    /unknown command.{0,3}\b(TIME|H[A-Z]+)\b/i,
    'this is a sentinel, or not Redis at all; for sentinels use redis+sentinel://host:26379/name',
  ],
  [/No such master with that name/, 'these sentinels know no master of that name'],
  // The second is what a function hears in Redis 7.0, the third in newer ones and in Valkey.
  [
    /^(NOPERM|ERR The user executing the script can't|ERR ACL failure in script)/,
    "the Redis user lacks a right; 'pshub check' names it, and the rule that grants it",
  ],
  [/^READONLY/, 'this server is a replica, which refuses writes; connect to its master'],
  [/^(MOVED|ASK|TRYAGAIN)\b/, 'a slot of the Cluster is moving to another node'],
  [/^CLUSTERDOWN/, 'no node of the Cluster serves that slot'],
  [/^OOM/, 'Redis is full'],
  [/^MISCONF/, 'Redis cannot write to its disk'],
  // Of servers that speak Redis' language and are none.
  [/acl_check_cmd/, 'this server cannot report what its users may do'],
  // What its parser says to an answer that begins with anything but a type of RESP.
  [/^Unknown RESP type/, 'the server at this address is not Redis'],
  [/^LOADING/, 'Redis is still loading its data'],
]

const maxLength = 200

/** An error's message with what to do about it, where that is known; to end a sentence with, without a full stop. */
export const explained = (message: string): string => {
  const known = advice.find(([pattern]) => pattern.test(message))
  // Some of Redis' own texts are three lines long; their first clause says it.
  if (known) return `${known[1]} (${message.split(/[\r\n]|[,.](?=\s|$)| script: \S+, /, 1)[0]})`
  return (
    message
      .split(/[\r\n]/, 1)[0]!
      // Redis quotes the arguments of a command that it does not know, and those are payloads.
      .replace(/, with args beginning with: .*/, '')
      .slice(0, maxLength)
      .replace(/\.$/, '')
  )
}

/** Of Redis' answer that it does not know a user or password: whether white space, which nobody sees, came along with one of them. */
export const withBlanksNoted = (message: string, username: unknown, password: unknown): string => {
  const isBlank = (text: unknown) => typeof text === 'string' && /^\s|\s$/.test(text)
  const which = isBlank(password) ? 'password' : isBlank(username) ? 'user' : undefined
  if (which === undefined) return message
  return message.replace(/^WRONGPASS /, `WRONGPASS the ${which} that was given begins or ends with white space: `)
}

/** Redis does not let this user in, or not do this: it stays so until somebody changes a setting. */
export const isAboutRights = (message: string): boolean => /^(WRONGPASS|NOAUTH|NOPERM)\b/.test(message)
