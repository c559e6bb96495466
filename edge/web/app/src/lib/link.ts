// Values that are IDs, which lead on.
import { server } from '../data.svelte'
import { namesOf } from './api'
import { clock, timeIn } from './time'

/** Whether a text is the ID of something in a memory of this server, or of another robot's. */
export function isLink(v: unknown): v is string {
  if (typeof v !== 'string' || v.length > 1024 || !v.includes('/')) return false
  const names = namesOf(v)
  if (names.length < 4 || names.length > 6) return false
  const memory = names[0]!.split(':').pop()!
  return server.memories.includes(memory) || server.memories.includes(names[0]!)
}

/** An ID as people read it: the entity, and the time of day of a snapshot. The whole ID stands elsewhere. */
export function shortLink(id: string): string {
  const names = namesOf(id)
  const t = timeIn(names)
  const entity = names[3] ?? id
  const of = names[0] && names[1] && entity.length < 12 ? `${names[1]} ${entity}` : entity
  return t === undefined ? of : `${of} · ${clock(t)}`
}
