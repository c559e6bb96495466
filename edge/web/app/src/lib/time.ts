// Times are nanoseconds since 1970, as bigint; they are shown in the browser's time zone.

import { split } from 'engram-client'

export { idTime, rfc3339, SECOND } from 'engram-client'

const two = (n: number) => String(n).padStart(2, '0')

/** Time of day, with so many digits of a second. */
export function clock(t: bigint, digits = 3): string {
  const { date, rest } = split(t)
  const hms = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return digits > 0 ? `${hms}.${rest.slice(0, digits)}` : hms
}

/** Date and time of day. */
export function full(t: bigint, digits = 3): string {
  const { date } = split(t)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(t, digits)}`
}

/** The day of a time. */
export const dayOf = (t: bigint) => full(t, 0).slice(0, 10)

/** A time, without its day if that is the given one. */
export const timeOn = (day: string, t: bigint) => (dayOf(t) === day ? clock(t) : full(t))

/** How long something is, or is ago: "3.2 s", "5 min". */
export function span(ns: bigint): string {
  const s = Number(ns) / 1e9
  const a = Math.abs(s)
  const whole = Math.floor(a)
  const sign = s < 0 ? '-' : ''
  if (a < 1e-3) return `${(s * 1e6).toFixed(0)} µs`
  if (a < 1) return `${(s * 1e3).toFixed(0)} ms`
  if (a < 59.95) return `${s.toFixed(1)} s`
  if (a < 3600) return `${sign}${Math.floor(whole / 60)} min ${whole % 60} s`
  if (a < 172800) return `${sign}${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
  return `${(s / 86400).toFixed(1)} days`
}

const least = -(1n << 63n)
const greatest = (1n << 63n) - 1n

/** The nearest time that there can be. */
export const within = (t: bigint): bigint => (t < least ? least : t > greatest ? greatest : t)

/** Reads a time as people write it; what servers have no number for, before 1677 or after 2262, is none. */
export function parse(text: string, now: bigint): bigint | undefined {
  const t = read(text, now)
  return t === undefined || t !== within(t) ? undefined : t
}

/** The time that the names of an ID have, in UTC without a zone; undefined of what is no snapshot's. */
export const timeIn = (names: readonly string[]): bigint | undefined => parse((names[4] ?? '').replace(/\d\d:\d\d:\d\d(\.\d+)?$/, '$&Z'), 0n)

/** Reads RFC 3339, nanoseconds, "14:00", "yesterday 14:00", "10 s ago", "-10s"; undefined of anything else. */
function read(text: string, now: bigint): bigint | undefined {
  text = text.trim()
  if (/^-?\d{12,20}$/.test(text)) return BigInt(text)
  const ago = /^(?:-\s*)?(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)(\s+ago)?$/i.exec(text)
  if (ago && (ago[3] || text.startsWith('-'))) {
    const unit = ago[2]!.toLowerCase()
    const s = unit === 'ms' ? 1e-3 : unit.startsWith('s') ? 1 : unit.startsWith('m') ? 60 : unit.startsWith('h') ? 3600 : 86400
    return now - BigInt(Math.round(Number(ago[1]) * s * 1e9))
  }
  const day = /^(?:(today|yesterday)\s*)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/i.exec(text)
  if (day && Number(day[2]) < 24 && Number(day[3]) < 60 && Number(day[4] ?? 0) < 60) {
    const d = split(now).date
    if (day[1]?.toLowerCase() === 'yesterday') d.setDate(d.getDate() - 1)
    d.setHours(Number(day[2]), Number(day[3]), Number(day[4] ?? 0), 0)
    return BigInt(d.getTime()) * 1_000_000n + BigInt((day[5] ?? '').padEnd(9, '0') || 0)
  }
  const whole = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?\s*(Z|[+-]\d{2}:\d{2})?)?$/.exec(text)
  if (whole) {
    const ms = Date.parse(`${whole[1]}T${whole[2] ?? '00:00'}${whole[3] ?? ':00'}${whole[5] ?? ''}`)
    if (Number.isNaN(ms)) return undefined
    return BigInt(ms) * 1_000_000n + BigInt((whole[4] ?? '').padEnd(9, '0') || 0)
  }
  return undefined
}
