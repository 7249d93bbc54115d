// Loaded into every process of the demo: when the one that started it is gone, however that came, it leaves too.
if (process.channel) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}
