// The table of a run.

const columns = [
  ['fault', ({ id, title }) => `${id} ${title}`],
  ['calls', ({ calls }) => calls],
  ['ok', ({ classes, calls }) => percent((classes.OK ?? 0) / (calls - (classes.killed ?? 0)))],
  ['settled in time', ({ inTime, calls }) => (inTime === calls ? 'all' : `${inTime}`)],
  ['wrong class', ({ wrong }) => wrong],
  ['lost', ({ lost }) => lost],
  ['duplicate starts', ({ duplicates }) => duplicates],
  ['late starts', ({ lateStarts }) => lateStarts],
  ['wedges', ({ wedges }) => wedges],
  ['recovery, s', ({ recoverySeconds }) => seconds(recoverySeconds)],
]

const percent = share => (share === 1 ? '100 %' : `${(Math.min(share, 0.9999) * 100).toFixed(2)} %`)
const seconds = value => (Number.isFinite(value) ? value.toFixed(1) : 'never')

export const tableOf = results => {
  const rows = results.map(result => columns.map(([, cell]) => String(cell(result))))
  const all = [columns.map(([title]) => title), columns.map(() => '---'), ...rows]
  return all.map(row => `| ${row.join(' | ')} |`).join('\n')
}

/** How calls of a row ended, and the first violations of each kind with the call to look for in the journals. */
export const detailsOf = ({
  id,
  classes,
  violations,
  excused,
  starved,
  detectionSeconds,
  kills,
  inHand,
  connectsPerSecond,
  linesPerSecond,
  gapSeconds,
  outageSeconds,
  secondStarts,
  report,
  folder,
}) => {
  const ended = Object.entries(classes).map(([code, count]) => `${code} ${count}`)
  const notes = [
    ...(report ? [report] : []),
    ...(excused ? [`${excused} late because their process got no processor`] : []),
    ...(starved ? [`${starved} waited too long because processes got no processor`] : []),
    ...(kills ? [`${kills} kills, ${inHand} calls in the hands of those killed`] : []),
    ...(gapSeconds === undefined
      ? []
      : [
          `${outageSeconds.toFixed(1)} s without service, and each had it ${gapSeconds.toFixed(1)} s after a promotion`,
        ]),
    ...(secondStarts?.count
      ? [
          `${secondStarts.count} started twice, first ${secondStarts.earliestMs.toFixed(1)} ms before the cut at the earliest`,
        ]
      : []),
    ...(detectionSeconds ? [`a death was noticed after ${detectionSeconds.toFixed(1)} s`] : []),
    `${connectsPerSecond.toFixed(1)} connects/s and client, ${linesPerSecond.toFixed(1)} log lines/s`,
  ]
  const lines = [`   ${ended.join(', ')}; ${notes.join('; ')}`]
  for (const invariant of new Set(violations.map(entry => entry.invariant))) {
    const same = violations.filter(entry => entry.invariant === invariant)
    lines.push(`   ${id} VIOLATION ${invariant}, ${same.length} times`)
    for (const { what, token } of same.slice(0, 4)) lines.push(`      ${what}${token ? ` (${token})` : ''}`)
  }
  if (violations.length > 0 && folder) lines.push(`   journals: ${folder}`)
  return lines.join('\n')
}
