import type { JsonValue } from '@bufbuild/protobuf'
import { server } from '../data.svelte'
import { namesOf } from './api'
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
    text = keys.every((k) => typeof v[k] === 'number') && keys.length <= 4 ? ordered(v).map(([k, x]) => `${k} ${figure(x as number)}`).join('  ') : `${keys.length} members`
  } else text = String(v)
  return text.length > most ? text.slice(0, most) + '…' : text
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
