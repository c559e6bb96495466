import type { JsonValue } from '@bufbuild/protobuf'
import { server } from '../data.svelte'
import { namesOf } from './api'
import { clock, parse } from './time'
import type { Shape } from './type'

/** Whether a text is the ID of something in a memory of this server, or of another robot's. */
export function isLink(v: unknown): v is string {
  if (typeof v !== 'string' || v.length > 1024 || !v.includes('/')) return false
  const names = namesOf(v)
  if (names.length < 4 || names.length > 6) return false
  const memory = names[0]!.split(':').pop()!
  return server.memories.includes(memory) || server.memories.includes(names[0]!)
}

/** A value in one line, cut. */
export function brief(v: JsonValue, most = 120): string {
  let text: string
  if (v === null) text = 'null'
  else if (typeof v === 'string') text = v
  else if (typeof v === 'number') text = figure(v)
  else if (Array.isArray(v)) text = v.length <= 8 && v.every((x) => typeof x === 'number') ? `[${v.map((x) => figure(x as number)).join(', ')}]` : `${v.length} items`
  else if (typeof v === 'object') {
    const keys = Object.keys(v)
    text = keys.length > 0 && keys.length <= 4 && keys.every((k) => typeof v[k] === 'number') ? vector(v as Record<string, number>) : `${keys.length} members`
  } else text = String(v)
  return text.length > most ? text.slice(0, most) + '…' : text
}

/** A few numbers: of a vector with all its members without their names. */
function vector(v: Record<string, number>): string {
  const all = ordered(v) as [string, number][]
  const digits = ([k, x]: [string, number]) => [k, figure(Number(x.toPrecision(5)))]
  const whole = /^xyz?w?$/.test(all.map(([k]) => k).join(''))
  return all.map(digits).map(([k, x]) => (whole ? x : `${k} ${x}`)).join(whole ? ', ' : '  ')
}

/** A number as people read it, without losing what it says. */
export function figure(n: number): string {
  if (Number.isInteger(n)) return String(n)
  const a = Math.abs(n)
  return a >= 1e6 || a < 1e-4 ? n.toExponential(4) : String(Number(n.toPrecision(7)))
}

/** The members of an object as its type orders them; others by name. */
export function ordered(v: Record<string, JsonValue>, shape?: Shape): [string, JsonValue][] {
  const order = new Map(shape?.members.map((m, i) => [m.name, i]))
  const place = (k: string) => order.get(k) ?? 'xyzw'.indexOf(k) + 1e6
  return Object.entries(v).sort(([a], [b]) => place(a) - place(b) || a.localeCompare(b, undefined, { numeric: true }))
}

/** An ID as people read it: the entity, and the time of day of a snapshot. The whole ID stands elsewhere. */
export function shortLink(id: string): string {
  const names = namesOf(id)
  const t = names[4] === undefined ? undefined : parse(names[4] + 'Z', 0n)
  const entity = names[3] ?? id
  const of = names[0] && names[1] && entity.length < 12 ? `${names[1]} ${entity}` : entity
  return t === undefined ? of : `${of} · ${clock(t)}`
}
