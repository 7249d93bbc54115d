// `work.mjs <system> <url> <count> <slots>`: runs that many jobs and says in a line of JSON how long it took, and what it cost. Ends at SIGTERM.
const [name, url, count, slots] = process.argv.slice(2)
const wanted = Number(count)
const { worker } = await import(`./systems/${name}.mjs`)

let seen = 0
let started
const cpu = process.cpuUsage()
const { close } = await worker(url, Number(slots), () => {
  started ??= performance.now()
  if (++seen !== wanted) return
  const { user, system } = process.cpuUsage(cpu)
  console.log(JSON.stringify({ ms: performance.now() - started, cpuMs: (user + system) / 1000 }))
})
process.once('SIGTERM', async () => {
  await close()
  process.exit(0)
})
