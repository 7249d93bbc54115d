import type { History, HistorySeries } from '../../contract.ts'
import { choiceOf } from '../address/query.ts'
import { useQuery } from '../address/use-query.ts'
import { type Range, rangeNames, ranges, useHistory } from '../live/history.ts'
import { SwitchLinks } from '../parts/switch-links.tsx'
import { amount, count, ms, percent, us } from '../text/figures.ts'
import { Deploys, marksOf } from './deploys.tsx'
import { Chart } from './lines.tsx'

interface ChartPlan {
  title: string
  series: readonly { of: HistorySeries; label: string; colour: string }[]
  format(value: number): string
  least?: number
}

const chartPlans = {
  backlog: {
    title: 'Backlog',
    series: [{ of: 'backlog', label: 'waiting', colour: 'chart-a' }],
    format: count,
    least: 4,
  },
  oldest: {
    title: 'Oldest request',
    series: [{ of: 'oldestMs', label: 'age', colour: 'chart-b' }],
    format: ms,
    least: 10,
  },
  waits: {
    title: 'Wait in the backlog, p95',
    series: [{ of: 'backlogP95Us', label: 'p95', colour: 'chart-b' }],
    format: us,
    least: 10,
  },
  rate: {
    title: 'Calls per second',
    series: [{ of: 'callsPerSecond', label: 'calls', colour: 'chart-a' }],
    format: amount,
  },
  errors: {
    title: 'Errors',
    series: [{ of: 'errorRate', label: 'share of calls', colour: 'chart-c' }],
    format: percent,
    least: 0.05,
  },
  busy: {
    title: 'Slots busy',
    series: [{ of: 'busyShare', label: 'share of time', colour: 'chart-a' }],
    format: percent,
    least: 1,
  },
  jobs: {
    title: 'Jobs waiting',
    series: [{ of: 'jobs', label: 'waiting', colour: 'chart-a' }],
    format: count,
    least: 4,
  },
  oldestJob: {
    title: 'Oldest due job',
    series: [{ of: 'oldestJobMs', label: 'age', colour: 'chart-b' }],
    format: ms,
    least: 10,
  },
  dead: {
    title: 'Dead jobs',
    series: [{ of: 'dead', label: 'dead', colour: 'chart-c' }],
    format: count,
    least: 4,
  },
  run: {
    title: 'Run time',
    series: [
      { of: 'execP95Us', label: 'p95', colour: 'chart-b' },
      { of: 'execP50Us', label: 'p50', colour: 'chart-a' },
    ],
    format: us,
    least: 10,
  },
} as const satisfies Record<string, ChartPlan>
export type ChartName = keyof typeof chartPlans

const rangeTexts: Record<Range, string> = { '15m': '15 minutes', '1h': '1 hour', '1d': '1 day', '30d': '30 days' }

/** Charts of everything, of one queue or of one task, and the choice of how far back they reach. */
export const HistoryCharts = ({
  of,
  charts,
}: {
  of?: { queue?: string; task?: string }
  charts: readonly ChartName[]
}) => {
  const state = useQuery()
  const range: Range = choiceOf(ranges, state.query.range)
  const history = useHistory(range, of)
  return (
    <section aria-labelledby="charts" class="part">
      <div class="part-head">
        <h2 id="charts">{rangeNames[range]}</h2>
        <SwitchLinks
          label="How far back"
          name="range"
          value={range}
          state={state}
          options={ranges.map(value => ({ value, text: rangeTexts[value] }))}
        />
      </div>
      <div class="charts" data-count={charts.length}>
        {charts.map(name => (
          <PlannedChart key={`${name} ${range}`} plan={chartPlans[name]} history={history} />
        ))}
      </div>
      {history && <Deploys deploys={history.deploys} />}
    </section>
  )
}

const PlannedChart = ({ plan, history }: { plan: ChartPlan; history: History | undefined }) => {
  if (!history) return <div class="chart chart-waiting" aria-hidden="true" />
  const series = plan.series.map(({ of, label, colour }) => ({ label, colour, values: history.series[of] }))
  return (
    <Chart
      title={plan.title}
      fromMs={history.fromMs}
      stepMs={history.stepMs}
      series={series}
      format={plan.format}
      marks={marksOf(history.deploys)}
      {...(plan.least === undefined ? {} : { least: plan.least })}
    />
  )
}
