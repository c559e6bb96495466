// Numbers over time, as the server makes them for the screen (/view/series).
import { pieceJSON } from './api'
import { SECOND } from './time'

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
  gaps: { reason: string; count: number; from?: string; to?: string }[]
  series: {
    path: string
    error?: string
    before?: { time: string; value: number }
    none?: number
    endBin: number[]
    endTime: number[]
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
interface Series {
  path: string
  error?: string
  /** By bin, counted from 1970, in order. */
  bins: Map<number, Bin>
  /** The times from which on no value is in force, by bin: NaN, infinite, or the member is not set. */
  ends: Map<number, number>
  /** The value in force before the first bin. */
  before?: number
}

/** Snapshots that are known to be missing: a span in s since 1970, as far as is known. */
export interface Lost {
  reason: string
  count: number
  from: number
  to: number
}

/** So many members, and so many bins of all of them, can be asked for at once. */
const maxPaths = 64
const maxBins = 1 << 17

/** Members in portions that can be asked for at once. */
export const portions = (paths: string[]): string[][] => Array.from({ length: Math.ceil(paths.length / maxPaths) }, (_, i) => paths.slice(i * maxPaths, (i + 1) * maxPaths))

/** What a path leads to: an element that goes by its name is position.knee, not position["knee"]. */
export const called = (path: string) => path.replace(/\["((?:[^"\\]|\\.)*)"\]$/, '.$1')
/** The list, or dict, that a path leads into. */
export const listOf = (path: string) => path.replace(/\[(\d+|"(?:[^"\\]|\\.)*")\]$/, '[]')

/** Times as lines have them, in s since 1970, and back; to the microsecond. */
export const seconds = (t: bigint) => Number(t / 1000n) / 1e6
export const nanoseconds = (s: number) => BigInt(Math.round(s * 1e6)) * 1000n

/**
 * Numbers of an entity, in bins that lie on a grid from 1970 on: of a range that moves on, only the bins that come are
 * fetched.
 */
export class Numbers {
  series: Series[] = []
  lost: Lost[] = []
  /** Of a bin, in s. */
  length = 0
  #length = 0n
  #first = 0
  #next = 0
  #asOf?: bigint
  /** What is there is whole: nothing was to come when it was fetched. */
  #settled = false
  /** The first bin that is fetched again when the range moves on: what is late by a little is taken, too. */
  #again = 0
  /** How often something came to what is not fetched again, and how often it had when all was fetched. */
  #late = 0
  #seen = 0

  constructor(
    readonly id: string,
    readonly paths: string[],
  ) {}

  /** Is told that something came at a time. Says whether that is in what is not fetched again: then all is, next time. */
  came(t: bigint): boolean {
    if (!this.#length) return false
    const at = Number(t / this.#length)
    const behind = at >= this.#first && at < (this.#settled ? this.#next : this.#again)
    if (behind) this.#late++
    return behind
  }

  /** settled says that nothing is to come in the range any more. */
  async fetch(from: bigint, to: bigint, columns: number, asOf: bigint | undefined, settled: boolean, signal: AbortSignal) {
    const length = grid(to - from, Math.min(columns, Math.floor(maxBins / Math.min(this.paths.length, maxPaths)) - 2))
    const first = Number(from / length)
    const next = Number(to / length) + 1
    const same = length === this.#length && asOf === this.#asOf && this.#late === this.#seen
    const came = this.#late
    if (same && settled && first >= this.#first && next <= this.#next) return
    const goesOn = same && first >= this.#first && first < this.#next && next >= this.#next
    // What comes, comes behind the last that is there.
    const begin = goesOn ? Math.max(first, this.#again) : first
    const span = { from: String(BigInt(begin) * length), to: String(BigInt(next) * length), n: String(next - begin), asof: asOf?.toString() }
    const answers = await Promise.all(portions(this.paths).map((path) => pieceJSON<Answer>('series', { id: this.id, path, ...span }, signal)))
    const a = answers[0]!
    const series = answers.flatMap((one) => one.series)
    const base = seconds(BigInt(a.from))
    if (!goesOn) this.series = series.map((s) => ({ path: s.path, bins: new Map(), ends: new Map(), before: s.before?.value }))
    const told = a.gaps.map((g) => ({
      reason: g.reason,
      count: g.count,
      from: g.from ? seconds(BigInt(g.from)) : base,
      to: g.to ? seconds(BigInt(g.to)) : seconds(BigInt(next) * length),
    }))
    // Of what lies before what was asked for, what was told before stays.
    this.lost = goesOn ? [...this.lost.filter((l) => l.from < base && !told.some((t) => t.from === l.from && t.reason === l.reason)), ...told] : told
    series.forEach((s, k) => take(this.series[k]!, s, begin, base, first))
    this.#length = length
    this.length = Number(length) / 1e9
    this.#first = first
    this.#next = next
    this.#asOf = asOf
    this.#settled = settled
    this.#seen = came
    let last = -1
    for (const s of this.series) for (const at of [...s.bins.keys(), ...s.ends.keys()]) last = Math.max(last, at)
    this.#again = Math.min(last, next - 1) - Math.ceil(Number(late) / Number(length))
  }
}

/** Takes what was told of a series from a bin on, and lets go of what lies before the first bin. */
function take(own: Series, s: Answer['series'][number], begin: number, base: number, first: number) {
  own.error = s.error
  for (const at of own.ends.keys()) if (at >= begin) own.ends.delete(at)
  for (const [i, bin] of s.endBin.entries()) own.ends.set(begin + bin, base + s.endTime[i]! / 1e9)
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
  own.ends = new Map([...own.ends].sort(([a], [b]) => a - b))
  let known = -1
  for (const [at, bin] of own.bins) {
    if (at >= first) break
    own.before = bin.last
    known = at
    own.bins.delete(at)
  }
  for (const at of own.ends.keys()) {
    if (at >= first) break
    if (at >= known) own.before = undefined
    own.ends.delete(at)
  }
}

/** What comes so late is drawn all the same. */
const late = SECOND

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
  /** The times of values that need a dot: all if there are few, else those that no line leads to. */
  dots: Set<number>
}

/** So much more than their usual interval apart are values between which something is missing. */
const silence = 5

/**
 * The line of a number from a time to another. Of many values in each bin, one through the first, the lowest, the highest
 * and the last looks as one through all. A number that is told seldom, or is one of a few states, holds until the next value.
 * The line ends where no value is in force, where something was lost, and where what came regularly came no more.
 */
export function line(s: Series, length: number, from: number, to: number, state: boolean, lost: Lost[]): Line {
  const bins = [...s.bins.values()]
  const usual = usualInterval(bins)
  const holds = state || usual.median > 20 * length
  const most = usual.regular ? Math.max(3 * length, silence * usual.median) : Infinity
  const ends = [...s.ends.values()]
  const holes = lost.filter((l) => isHole(l, bins))
  const out: Line = { x: [], y: [], holds, dots: new Set() }
  const add = (x: number, y: number | null) => {
    const last = out.x[out.x.length - 1]
    out.x.push(last !== undefined && x <= last ? last + 1e-6 : x)
    out.y.push(y)
  }
  let value = s.before
  let since = from // that it is drawn
  let end = 0 // the first that may be behind the value
  /** Goes on from the value before to a time; whether a line leads there. */
  const lead = (x: number): boolean => {
    while (end < ends.length && ends[end]! < since) end++
    if (value === undefined) return false
    let ended = end < ends.length && ends[end]! < x ? ends[end]! : undefined
    for (const l of holes) if (l.from < x && l.to > since) ended = Math.min(ended ?? Infinity, Math.max(l.from, since))
    const silent = x - since > most
    if (ended === undefined && !silent) return true
    if (holds) add(Math.min(ended ?? x, silent ? since + usual.median : x), value)
    add(out.x[out.x.length - 1] ?? since, null)
    return false
  }
  if (holds && value !== undefined) add(from, value)
  const few = bins.length < 60 && bins.every((b) => b.from === b.to)
  let lone: number | undefined
  for (const b of bins) {
    const led = lead(b.from)
    if (lone !== undefined && !led) out.dots.add(lone)
    add(b.from, b.first)
    lone = led || b.to > b.from ? undefined : out.x[out.x.length - 1]!
    if (few) out.dots.add(out.x[out.x.length - 1]!)
    if (b.to > b.from) {
      const third = (b.to - b.from) / 3
      const rises = b.last >= b.first
      add(b.from + third, rises ? b.low : b.high)
      add(b.to - third, rises ? b.high : b.low)
      add(b.to, b.last)
    }
    value = b.last
    since = b.to
  }
  if (lone !== undefined) out.dots.add(lone)
  if (holds && value !== undefined && to > since && lead(to)) add(to, value)
  return out
}

/**
 * Whether nothing is there any more where something was lost. Where values are left, others are missing among them; and
 * what a policy left out of the record (filtered) leaves the value before it in force.
 */
function isHole(l: Lost, bins: Bin[]): boolean {
  return l.reason !== 'filtered' && !bins.some((b) => b.to > l.from && b.from < l.to)
}

/** How far apart values are as a rule, in s, and whether they come regularly. */
function usualInterval(bins: Bin[]): { median: number; regular: boolean } {
  const steps: number[] = []
  for (let i = 1; i < bins.length; i++) steps.push(bins[i]!.from - bins[i - 1]!.from)
  steps.sort((a, b) => a - b)
  const median = steps[steps.length >> 1] ?? Infinity
  return { median, regular: steps.length >= 8 && steps[Math.floor(steps.length * 0.9)]! <= 2 * median }
}

/** The value of a line at a time: that of its last point up to it; undefined where there is none. */
export function valueAt(l: Line, t: number): number | undefined {
  let a = 0
  let b = l.x.length
  while (a < b) {
    const m = (a + b) >> 1
    if (l.x[m]! <= t) a = m + 1
    else b = m
  }
  return l.y[a - 1] ?? undefined
}
