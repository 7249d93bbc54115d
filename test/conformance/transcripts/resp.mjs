// Redis' protocol, as far as a scripted server needs it: commands in (RESP2, arrays of bulk strings), answers out.

/** Takes bytes as they come, and gives whole commands, each as an array of words. */
export class CommandReader {
  #bytes = Buffer.alloc(0)

  /** @returns the commands that are complete now */
  push(chunk) {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    const commands = []
    for (let read = this.#command(); read; read = this.#command()) {
      commands.push(read.words)
      this.#bytes = this.#bytes.subarray(read.end)
    }
    return commands
  }

  #command() {
    const head = this.#line(0)
    if (!head) return undefined
    if (!head.text.startsWith('*')) throw new Error(`not a command: ${head.text.slice(0, 60)}`)
    const words = []
    let { end } = head
    for (let left = Number(head.text.slice(1)); left > 0; left--) {
      const size = this.#line(end)
      if (!size) return undefined
      const from = size.end
      end = from + Number(size.text.slice(1)) + 2
      if (end > this.#bytes.length) return undefined
      words.push(this.#bytes.toString('utf8', from, end - 2))
    }
    return { words, end }
  }

  #line(from) {
    const at = this.#bytes.indexOf('\r\n', from)
    return at < 0 ? undefined : { text: this.#bytes.toString('latin1', from, at), end: at + 2 }
  }
}

/** An answer: a text, a whole number, null, an array of answers, or `{ error }`. `isNew`: to a client that speaks RESP3. */
export const encodeAnswer = (answer, isNew = false) => {
  if (answer === null) return isNew ? '_\r\n' : '$-1\r\n'
  if (typeof answer === 'number') return `:${answer}\r\n`
  if (typeof answer === 'string') return `$${Buffer.byteLength(answer)}\r\n${answer}\r\n`
  if (Array.isArray(answer)) return `*${answer.length}\r\n${answer.map(each => encodeAnswer(each, isNew)).join('')}`
  return `-${answer.error}\r\n`
}
