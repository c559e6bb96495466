// Times are nanoseconds since 1970 in UTC, as bigint.
import { EngramError } from './errors.js'

export const SECOND = 1_000_000_000n

/** The clock of this computer, to its own accuracy. */
export const now = (): bigint => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n

/** A date and the nanoseconds of its second, as nine digits. */
export function split(t: bigint): { date: Date; rest: string } {
  let s = t / SECOND
  let n = t % SECOND
  if (n < 0n) {
    n += SECOND
    s -= 1n
  }
  return { date: new Date(Number(s) * 1000), rest: String(n).padStart(9, '0') }
}

/** A time as it stands in IDs. */
export function idTime(t: bigint): string {
  const { date, rest } = split(t)
  return date.toISOString().slice(0, 19).replace('T', ' ') + '.' + rest
}

/** A time in RFC 3339, to the nanosecond. */
export const rfc3339 = (t: bigint): string => idTime(t).replace(' ', 'T').replace(/\.?0+$/, '') + 'Z'

/** Reads RFC 3339, the time of an ID, or nanoseconds as digits; without a zone it is UTC. Throws of anything else. */
export function timeOf(text: string): bigint {
  if (/^-?\d{12,20}$/.test(text)) return BigInt(text)
  const whole = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?\s*(Z|[+-]\d{2}:\d{2})?$/.exec(text)
  const ms = whole ? Date.parse(`${whole[1]}T${whole[2]}${whole[4] ?? 'Z'}`) : NaN
  if (Number.isNaN(ms)) throw new EngramError('invalid', text, `${JSON.stringify(text)} is no time: write 2026-01-31T14:00:00.5Z`)
  return BigInt(ms) * 1_000_000n + BigInt((whole?.[3] ?? '').padEnd(9, '0') || 0)
}

/** A time as people of JavaScript have it. An EngramError says what is none. */
export function toTime(t: bigint | Date | string): bigint {
  if (typeof t === 'string') return timeOf(t)
  if (t instanceof Date && !Number.isNaN(t.getTime())) return BigInt(t.getTime()) * 1_000_000n
  if (typeof t === 'bigint' && BigInt.asIntN(64, t) === t) return t
  throw new EngramError('invalid', String(t), `${String(t)} is no time: give nanoseconds since 1970 as a bigint, a Date, or RFC 3339`)
}
