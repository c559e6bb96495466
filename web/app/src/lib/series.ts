// Numbers over time, as the server makes them for the screen.
import { piece } from './api'

/** What there is of a number in a bin; times in s since 1970. */
interface Bin {
  first: number
  last: number
  low: number
  high: number
  from: number
  to: number
}

interface Answer {
  from: string
  gaps: { reason: string; count: number }[]
  series: {
    path: string
    error?: string
    before?: { time: string; value: number }
    bin: number[]
    firstTime: number[]
    first: number[]
    lastTime?: number[]
    last?: number[]
    low?: number[]
    high?: number[]
  }[]
}

/** A number of an entity over the time that was asked for. */
export interface Series {
  path: string
  error?: string
  /** By bin, counted from 1970. */
  bins: Map<number, Bin>
  /** The value in force before the first bin. */
  before?: number
}

export const seconds = (t: bigint) => Number(t / 1000n) / 1e6

/**
 * Numbers of an entity, in bins that lie on a grid from 1970 on: of a range that moves on, only the bins that come are
 * fetched.
 */
export class Numbers {
  series: Series[] = []
  /** What is known to be missing. */
  gaps: { reason: string; count: number }[] = []
  #length = 0n
  #first = 0
  #next = 0
  #asOf?: bigint

  constructor(
    readonly id: string,
    readonly paths: string[],
  ) {}

  /** settled says that nothing is to come in the range any more. */
  async fetch(from: bigint, to: bigint, columns: number, asOf: bigint | undefined, settled: boolean, signal: AbortSignal) {
    const length = grid(to - from, columns)
    const first = Number(from / length)
    const next = Number(to / length) + 1
    const same = length === this.#length && asOf === this.#asOf
    if (same && settled && first >= this.#first && next <= this.#next) return
    const goesOn = same && first >= this.#first && first < this.#next && next >= this.#next
    // What comes, comes behind the last that is there; and what is late by a little is taken, too.
    let last = -1
    for (const s of this.series) for (const at of s.bins.keys()) last = Math.max(last, at)
    const begin = goesOn ? Math.max(first, Math.min(last, this.#next - 1) - Math.ceil(Number(late) / Number(length))) : first
    const r = await piece(
      'series',
      { id: this.id, path: this.paths, from: String(BigInt(begin) * length), to: String(BigInt(next) * length), n: String(next - begin), asof: asOf?.toString() },
      signal,
    )
    const a = (await r.json()) as Answer
    if (!goesOn) this.series = a.series.map((s) => ({ path: s.path, bins: new Map() }))
    this.gaps = a.gaps
    const base = seconds(BigInt(a.from))
    a.series.forEach((s, k) => {
      const own = this.series[k]!
      own.error = s.error
      if (!goesOn) own.before = s.before?.value
      for (const [i, bin] of s.bin.entries()) {
        const v = s.first[i]!
        const t = base + s.firstTime[i]! / 1e9
        own.bins.set(begin + bin, {
          first: v,
          last: s.last?.[i] ?? v,
          low: s.low?.[i] ?? v,
          high: s.high?.[i] ?? v,
          from: t,
          to: s.lastTime ? base + s.lastTime[i]! / 1e9 : t,
        })
      }
      own.bins = new Map([...own.bins].sort(([a], [b]) => a - b))
      for (const [at, bin] of own.bins) {
        if (at >= first) break
        own.before = bin.last
        own.bins.delete(at)
      }
    })
    this.#length = length
    this.#first = first
    this.#next = next
    this.#asOf = asOf
  }
}

/** What comes so late is drawn all the same. */
const late = 1_000_000_000n

/** The length of bins: 1, 2 or 5 times a power of ten, so that it stays the same for ranges that are about as long. */
function grid(span: bigint, columns: number): bigint {
  const least = span / BigInt(columns) + 1n
  let length = 1n
  while (length < least) {
    if (2n * length >= least) return 2n * length
    if (5n * length >= least) return 5n * length
    length *= 10n
  }
  return length
}

/** Points of a line through bins, by time; null is a gap. */
export interface Line {
  x: number[]
  y: (number | null)[]
  /** Values hold until the next one. */
  holds: boolean
}

/**
 * The line of a number: of many values in each bin, one through the first, the lowest, the highest and the last looks as
 * one through all. A number that is told seldom, or is one of a few states, holds until the next value.
 */
export function line(s: Series, from: number, to: number, state: boolean): Line {
  const bins = [...s.bins.entries()]
  const steps = bins.slice(1).map(([at], i) => at - bins[i]![0])
  const typical = steps.length ? [...steps].sort((a, b) => a - b)[steps.length >> 1]! : Infinity
  const holds = state || typical > 20
  const out: Line = { x: [], y: [], holds }
  const add = (x: number, y: number | null) => {
    out.x.push(x)
    out.y.push(y)
  }
  if (holds && s.before !== undefined) add(from, s.before)
  let before: number | undefined
  for (const [at, b] of bins) {
    if (!holds && before !== undefined && at - before > Math.max(3, 5 * typical)) add(b.from - 1e-6, null)
    before = at
    add(b.from, b.first)
    if (b.to <= b.from) continue
    const third = (b.to - b.from) / 3
    const rises = b.last >= b.first
    add(b.from + third, rises ? b.low : b.high)
    add(b.to - third, rises ? b.high : b.low)
    add(b.to, b.last)
  }
  const last = bins[bins.length - 1]?.[1]
  if (holds && (last || s.before !== undefined) && to > (last?.to ?? from)) add(to, last?.last ?? s.before!)
  return out
}
