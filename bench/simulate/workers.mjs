// Workers as Redis sees them: their own beats, registrars and statistics, without processes, handlers and calls.
import { FieldWrites, Registrar, republishMs } from '../../dist/catalogue/registrar.js'
import { Events } from '../../dist/figures/events.js'
import { Queue } from '../../dist/queue/queue.js'
import { newId } from '../../dist/wire/ids.js'
import { RedisClock } from '../../dist/wire/redis-clock.js'
import { Beats } from '../../dist/worker/queues/beats.js'
import { BeatLoop } from '../../dist/worker/roles/beat.js'
import { Reconcile } from '../../dist/worker/roles/reconcile.js'

const slots = { knows: () => true, wasReleased: () => false }
/** Beats that are not sent. */
const noBeats = {
  ask: async () => ({ beat: { held: true, nowUs: Date.now() * 1000, cancelled: [], ended: [] }, held: [] }),
}
/** Writes what a worker writes, and finds nothing of others but how many there are: a crowd that comes at once would read itself again and again. */
const writingOnly = (client, all) => ({
  sendCommand: command => {
    if (command.name === 'hset' || command.name === 'fcall') return client.sendCommand(command)
    // That many there are it must know: who is one of thousands tells less often.
    if (command.name === 'hkeys' && command.args[0].endsWith(':stats')) return Promise.resolve(all)
    return Promise.resolve(command.name === 'time' ? ['0', '0'] : [])
  },
})

export class SimulatedWorker {
  id = newId()
  #parts
  #tape
  #turn
  #connection
  #registrar
  #beat
  #publishedAt

  /** `parts`: which of beats, statistics and cards it sends. */
  constructor({ connection, keys, settings, queue: name, tasks, tape, parts }) {
    const { id } = this
    const queue = new Queue(name, keys)
    this.#parts = parts
    this.#tape = tape
    this.#turn = Math.floor(Math.random() * tape.beats.length)
    this.#connection = connection
    this.#registrar = new Registrar({
      keys,
      queue,
      settings,
      events: new Events(),
      tasks: () => tasks,
      serves: () => false,
      writes: new FieldWrites(),
    })
    const context = {
      queue,
      beats: parts.beats ? new Beats(connection) : noBeats,
      commands: connection,
      settings,
      slots,
      clock: new RedisClock(),
      measures: { reportsQueue: true, texts: isAll => this.#texts(isAll), repeat: () => undefined },
      registrar: { publish: (client, _, nowMs, said) => this.#publish(client, nowMs, said) },
      stats: seen => ({ seen, draining: false, ...tape.measures.stats() }),
      workerId: () => id,
      isServing: () => true,
      problem: () => error => {
        throw error
      },
    }
    const reconcile = new Reconcile(context)
    const onBeat = ({ beat, held }) => reconcile.look(held, beat.nowUs, this.#beat.sentAt)
    this.#beat = new BeatLoop(context, onBeat, () => undefined)
    this.stats = context.stats
  }

  /** Its cards come, some time in the last ten minutes, so that workers write them again one after the other. */
  async register(nowMs, all) {
    this.#publishedAt = nowMs - Math.floor(Math.random() * republishMs)
    const said = { stats: this.stats(nowMs), measured: isAll => this.#texts(isAll) }
    await this.#connection.send(client =>
      this.#registrar.publish(writingOnly(client, all), this.id, this.#publishedAt, said),
    )
  }

  /** What a worker does once a second. */
  beat() {
    return this.#beat.beatNow()
  }

  async #publish(client, nowMs, said) {
    const isDue = this.#parts.cards && nowMs - this.#publishedAt > republishMs
    if (isDue) this.#publishedAt = nowMs
    if (isDue || this.#parts.statistics) await this.#registrar.publish(client, this.id, this.#publishedAt, said)
  }

  #texts(isAll) {
    this.#turn++
    return isAll ? this.#tape.all : this.#tape.beats[this.#turn % this.#tape.beats.length]
  }
}
