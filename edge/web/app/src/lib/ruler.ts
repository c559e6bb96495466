// The lines of a time's ruler: at round times of day, days, months or years of the browser's time zone.
import { split } from 'engram-client'
import { clock, dayOf, SECOND } from './time'

interface Tick {
  t: bigint
  label: string
}

const MS = 1_000_000n
const HOUR = 3600n * SECOND
const DAY = 24n * HOUR

/** Steps that are as long wherever and whenever, ns. */
const even = [1n, 2n, 5n, 10n, 20n, 50n, 100n, 200n, 500n, 1000n, 2000n, 5000n, 10_000n, 15_000n, 30_000n, 60_000n, 120_000n, 300_000n, 600_000n, 900_000n, 1_800_000n].map((ms) => ms * MS)
/** Those that follow the calendar, whose hours and days differ in length where clocks are put back. */
const hours = [1, 2, 3, 6, 12]
const days = [1, 2, 7, 14]
const months = [1, 3, 6]
const years = [1, 2, 5, 10, 20, 50, 100]

/** How many lines there are at most, about. */
const most = 20

/** Lines between two times, of which none is nearer to the next than a part of the whole. */
export function ticks(from: bigint, to: bigint, part: number): Tick[] {
  const least = BigInt(Math.round(Number(to - from) * Math.max(part, 1 / most)))
  const step = even.find((s) => s >= least)
  if (step) {
    const shift = BigInt(split(from).date.getTimezoneOffset()) * 60n * SECOND
    const out: Tick[] = []
    for (let t = floor(from - shift, step) + step + shift; t < to; t += step) out.push({ t, label: clock(t, step < SECOND ? 3 : 0) })
    return out
  }
  const fit = (all: number[], unit: bigint) => all.find((n) => BigInt(n) * unit >= least)
  const inHours = fit(hours, HOUR)
  const inDays = fit(days, DAY)
  const inMonths = fit(months, 28n * DAY)
  const first = split(from).date
  const [y, m, d] = [first.getFullYear(), first.getMonth(), first.getDate()]
  if (inHours) {
    // So many in a day, on each day.
    const a = 24 / inHours
    return lines(from, to, (i) => new Date(y, m, d + Math.floor(i / a), (i % a) * inHours), (t) => clock(t, 0))
  }
  if (inDays) {
    // By the number of the day since a Monday, so that lines stay where they are when time moves on.
    const n = Math.floor((Date.UTC(y, m, d) / 86_400_000 + 3) / inDays) * inDays - 3
    return lines(from, to, (i) => new Date(1970, 0, 1 + n + i * inDays), dayOf)
  }
  if (inMonths) return lines(from, to, (i) => new Date(y, Math.floor(m / inMonths) * inMonths + i * inMonths), (t) => dayOf(t).slice(0, 7))
  const inYears = fit(years, 365n * DAY) ?? years[years.length - 1]!
  return lines(from, to, (i) => new Date(Math.floor(y / inYears) * inYears + i * inYears, 0), (t) => dayOf(t).slice(0, 4))
}

function lines(from: bigint, to: bigint, date: (i: number) => Date, label: (t: bigint) => string): Tick[] {
  const out: Tick[] = []
  for (let i = 0, last = from; ; i++) {
    const t = BigInt(date(i).getTime()) * MS
    if (t >= to) return out
    // An hour that a clock leaves out is the one after it.
    if (t > last) out.push({ t, label: label(t) })
    last = t > last ? t : last
  }
}

function floor(t: bigint, step: bigint): bigint {
  const rest = t % step
  return t - rest - (rest < 0n ? step : 0n)
}
