// How values look to people.
import type { JsonValue } from '@bufbuild/protobuf'
import { isVector, ordered, sizeOf } from './members'

/** A value in one line, cut. */
export function brief(v: JsonValue, most = 120): string {
  let text: string
  if (v === null) text = 'null'
  else if (typeof v === 'string') text = v
  else if (typeof v === 'number') text = figure(v)
  else if (Array.isArray(v)) text = v.length <= 8 && v.every((x) => typeof x === 'number') ? `[${v.map((x) => figure(x as number)).join(', ')}]` : `${v.length} items`
  else if (isVector(v)) text = vector(v)
  else text = typeof v === 'object' ? `${sizeOf(v)} members` : String(v)
  return text.length > most ? text.slice(0, most) + '…' : text
}

/** A few numbers: of a vector with all its members without their names. */
function vector(v: Record<string, number>): string {
  const all = ordered(v) as [string, number][]
  const whole = /^xyz?w?$/.test(all.map(([k]) => k).join(''))
  return all.map(([k, x]) => (whole ? figure(x, 5) : `${k} ${figure(x, 5)}`)).join(whole ? ', ' : '  ')
}

/** A number as people read it: with so many digits, and with thousandths in any case. */
export function figure(n: number, digits = 7): string {
  if (Number.isInteger(n)) return String(n)
  const a = Math.abs(n)
  if (a >= 1e6 && a < 1e15) return String(n)
  const short = Number(n.toPrecision(a < 1e6 ? Math.max(digits, Math.floor(Math.log10(a)) + 4) : digits))
  return a >= 1e15 ? short.toExponential() : String(short)
}

/** A value exactly, for who points at it; the beginning of a long text. */
export function exact(v: JsonValue | undefined): string | undefined {
  if (v === undefined || v === null) return undefined
  if (typeof v === 'object') return isVector(v) || (Array.isArray(v) && v.length <= 8 && v.every((x) => typeof x === 'number')) ? JSON.stringify(v) : undefined
  const text = String(v)
  return text.length > 1000 ? text.slice(0, 1000) + '…' : text
}
