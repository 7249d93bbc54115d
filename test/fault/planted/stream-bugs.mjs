// Bugs in what becomes of streams, one for each of their rows; see bugs.mjs.

/** What was taken is not said any more when that has failed once. */
const silenced = [['hub/streams/open-streams.js', 'if (closing.aborted)\n                    break;', 'return;']]

export const streamBugs = [
  {
    name: 'no word after a failover',
    row: 'F31-streams',
    breaks: ['class', 'lost'],
    isOfCallers: true,
    what: 'what was taken is not said any more when that has failed once',
    edits: silenced,
  },
  {
    name: 'pushes side by side',
    row: 'F35-streams',
    breaks: ['lost'],
    what: 'a push of chunks does not wait for the one before',
    edits: [
      [
        'worker/answers/open-stream.js',
        'this.#isBroken = !(await this.#way.push(texts));',
        'void this.#way.push(texts);',
      ],
    ],
  },
  {
    name: 'push that is not repeated',
    row: 'F05-streams',
    breaks: ['lost'],
    what: 'chunks whose push was not answered are taken for pushed',
    edits: [
      [
        'worker/roles/streams.js',
        'await commands.send(client => queue.reply(client, hubId, texts))',
        'await commands.send(client => queue.reply(client, hubId, texts)).catch(() => undefined)',
      ],
    ],
  },
  {
    name: 'chunk that comes twice',
    row: 'F07-streams',
    breaks: ['chunks'],
    isOfCallers: true,
    what: 'a chunk is read whether or not it came before',
    edits: [
      ['hub/streams/hub-stream.js', 'if (part.chunk <= this.#came)', 'if (false)'],
      ['hub/streams/hub-stream.js', 'if (part.chunk !== this.#came + 1)', 'if (part.chunk > this.#came + 1)'],
    ],
  },
  {
    name: 'no word after an outage',
    row: 'F13-streams',
    breaks: ['class', 'lost'],
    isOfCallers: true,
    what: 'what was taken is not said any more when that has failed once',
    edits: silenced,
  },
  {
    name: 'gap that is not told',
    row: 'F27-streams',
    breaks: ['chunks'],
    isOfCallers: true,
    what: 'a chunk is taken for the next one whatever its number is',
    edits: [['hub/streams/hub-stream.js', 'if (part.chunk !== this.#came + 1)', 'if (false)']],
  },
  {
    name: 'stream that begins again',
    row: 'F37-streams',
    breaks: ['I5'],
    isOfCallers: true,
    what: 'a stream of an idempotent task is begun again by another worker',
    edits: [['hub/dispatch.js', 'route.idempotent && !listener?.asked.window', 'route.idempotent']],
  },
  {
    name: 'runs on without its lease',
    row: 'F38-streams',
    // Beside those that its new identity takes, they are more than it has slots.
    breaks: ['unread', 'I11'],
    what: 'a worker that lost its lease lets its handlers go on, whoever reads',
    edits: [
      ['worker/crew.js', /executor\.abandonAll\(new HubError\('WorkerLost', 'The lease[^)]*\)\)/, '0'],
      ['worker/answers/open-stream.js', 'this.#onGone();', ''],
    ],
  },
  {
    name: 'no back-pressure',
    row: 'F41-streams',
    breaks: ['pressure'],
    what: 'a handler is asked for more however little of it was read',
    edits: [
      ['worker/answers/open-stream.js', 'if (!this.#hasRoom)\n            return', 'if (false)\n            return'],
    ],
  },
  {
    name: 'impatient worker',
    row: 'F42-asleep',
    breaks: ['class', 'lost'],
    what: 'a caller that is silent for 2 s is taken for gone',
    edits: [['worker/answers/open-stream.js', 'now - this.#silentSince >= takenMs', 'now - this.#silentSince >= 2000']],
  },
  {
    name: 'nobody before the first chunk',
    row: 'F42-streams',
    breaks: ['class'],
    isOfCallers: true,
    what: 'a caller says nothing of a stream before something came of it',
    edits: [['hub/call.js', 'spec.caller.listener?.onTry?.(this.id)', '0']],
  },
  {
    name: 'worker that misses nobody',
    row: 'F42-streams',
    breaks: ['unread'],
    what: 'a stream goes on for a caller that is gone',
    edits: [['worker/answers/open-stream.js', 'this.#onGone();', '']],
  },
]
