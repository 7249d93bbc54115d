import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { isSystemDark } from '../looks/system-theme.ts'
import { theme } from '../looks/theme.ts'
import { clock, dateTime } from '../text/figures.ts'
import type { ChartMark } from './mark-places.ts'
import { drawMarks } from './marks.ts'

export interface ChartSeries {
  label: string
  values: readonly (number | null)[]
  /** Name of a colour of the style sheet, without its dashes. */
  colour: string
}

export interface ChartProps {
  title: string
  fromMs: number
  stepMs: number
  series: readonly ChartSeries[]
  format(value: number): string
  /** The axis reaches at least so far. */
  least?: number
  /** Oldest first. */
  marks: readonly ChartMark[]
}

const height = 150
/** Charts of one page share their cursor. */
const together = uPlot.sync('page')

/** Lines over time: values at the pointer, gaps where nothing is known, and the same in words. */
export const Chart = (props: ChartProps) => {
  const { title, series, format } = props
  const box = useRef<HTMLDivElement>(null)
  const legend = useRef<HTMLSpanElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(props)
  latest.current = props
  const names = series.map(({ label }) => label).join()
  useEffect(() => {
    const made = new uPlot(
      optionsOf(latest.current, box.current!, legend.current!, () => latest.current.marks),
      dataOf(latest.current),
      box.current!,
    )
    plot.current = made
    const watch = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width)
      if (width > 0 && width !== made.width) made.setSize({ width, height })
    })
    watch.observe(box.current!)
    return () => {
      watch.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [names, theme.value, isSystemDark.value])
  useEffect(() => {
    plot.current?.setData(dataOf(latest.current))
  }, [props.fromMs, props.series])
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span ref={legend} class="chart-at" aria-hidden="true" />
        <span class="chart-now">
          {series.map(({ label, values, colour }) => (
            <span key={label}>
              {series.length > 1 && (
                <>
                  <span class={`chart-key ${colour}`} aria-hidden="true" /> <span class="quiet">{label}</span>{' '}
                </>
              )}
              {lastOf(values) === undefined ? '–' : format(lastOf(values)!)}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="chart-box" role="img" aria-label={inWords(props)} />
    </figure>
  )
}

const lastOf = (values: readonly (number | null)[]): number | undefined => {
  // The last step is not over yet; where it holds nothing, the one before tells.
  return values.at(-1) ?? values.at(-2) ?? undefined
}

const inWords = ({ title, series, format, marks }: ChartProps): string => {
  const each = series.map(({ label, values }) => {
    const known = values.filter(value => value !== null)
    if (known.length === 0) return `${label}: no data yet`
    const last = lastOf(values)
    const now = last === undefined ? 'now not known' : `now ${format(last)}`
    return `${label}: ${now}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`
  })
  const deployed = marks.length > 0 ? ` Deployed meanwhile: ${marks.map(({ text }) => text).join('; ')}.` : ''
  return `${title}. ${each.join('; ')}.${deployed}`
}

const dataOf = ({ fromMs, stepMs, series }: ChartProps): uPlot.AlignedData => {
  const times = (series[0]?.values ?? []).map((_, at) => (fromMs + at * stepMs) / 1000)
  return [times, ...series.map(({ values }) => [...values])]
}

const optionsOf = (
  props: ChartProps,
  box: HTMLElement,
  legend: HTMLElement,
  marks: () => readonly ChartMark[],
): uPlot.Options => {
  const style = getComputedStyle(document.documentElement)
  // A custom property with light-dark() reads as it was written; a property that uses it reads as its colour.
  const colour = (name: string) => colourOf(box, `var(--${name})`)
  const quiet = colour('quiet')
  const grid = { stroke: colour('grid'), width: 1 }
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: quiet, grid, ticks: { show: false }, font }
  return {
    width: Math.max(200, Math.floor(box.clientWidth)),
    height,
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: together.key }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, _low, high) => [0, Math.max(high * 1.08, props.least ?? 0) || 1] } },
    axes: [
      { ...axis, size: 24, space: 64, values: (_, splits) => splits.map(at => axisTime(at * 1000)) },
      { ...axis, size: 56, space: 34, values: (_, splits) => splits.map(value => props.format(value)) },
    ],
    series: [
      {},
      ...props.series.map(({ colour: name }, at) => ({
        stroke: colour(name),
        width: 1.5,
        ...(at === 0 && props.series.length === 1 ? { fill: colour(`${name}-soft`) } : {}),
        points: { show: true, size: 4, filter: lonePoints, fill: colour(name) },
      })),
    ],
    hooks: { setCursor: [plot => tellAt(plot, props, legend)], draw: [plot => drawMarks(plot, marks())] },
  }
}

/** Reads a colour as the browser computes it. */
const colourOf = (near: HTMLElement, value: string): string => {
  const probe = document.createElement('span')
  probe.style.color = value
  near.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** A value between gaps would be a line of no length: it gets a dot. */
const lonePoints: uPlot.Series.Points.Filter = (plot, at) => {
  const values = plot.data[at]!
  const isKnown = (index: number) => values[index] !== null && values[index] !== undefined
  return Array.from(values, (_, index) => index).filter(
    index => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1),
  )
}

/** Where a day begins, the day. */
const axisTime = (atMs: number): string => {
  const time = clock(atMs).slice(0, 5)
  return time === '00:00' ? dateTime(atMs).slice(5, 10) : time
}

/** Of steps that reach over more than a day, the day too. */
const pointTime = (atMs: number, stepMs: number): string =>
  stepMs >= 600_000 ? dateTime(atMs).slice(5, 16) : clock(atMs)

const tellAt = (plot: uPlot, { series, format, stepMs }: ChartProps, legend: HTMLElement): void => {
  const at = plot.cursor.idx
  if (at === null || at === undefined) {
    legend.textContent = ''
    return
  }
  const values = series.map(({ label }, index) => {
    const value = plot.data[index + 1]?.[at]
    const text = value === null || value === undefined ? 'not known' : format(value)
    return series.length > 1 ? `${label} ${text}` : text
  })
  legend.textContent = `${pointTime(plot.data[0][at]! * 1000, stepMs)}  ${values.join('  ')}`
}
