// What skills did, and when.
import { Level } from '@api/memory_pb'
import { latest, patternOf } from 'engram-client'
import { eachStats, entityOf, items, json, memory, namesOf } from './api'
import { parse } from './time'

export interface Execution {
  id: string
  name: string
  from: bigint
  /** forever while it runs. */
  to: bigint
  state: string
  /** The execution that called it; "" if none did. */
  parent: string
  /** When its newest snapshot is of. */
  seen: bigint
}

/** Whether an execution has ended, by its status. */
const hasEnded = (status: unknown) => /^(Succeeded|Failed|Aborted)$/.test(String(status))

/** The end of one that runs. */
export const forever = 1n << 62n

/** So many executions are shown, the newest. */
export const mostExecutions = 500

const segment = ['Skill', 'Execution']

/** The newest executions of skills. */
export class Executions {
  /** By the IDs of their entities. */
  all = new Map<string, Execution>()
  /** Whether there are more. */
  more = false

  /** Fetches the newest there are, or were as known at a time. */
  async begin(asOf: bigint | undefined, signal: AbortSignal) {
    const last: [string, bigint][] = []
    await eachStats({ depth: Level.ENTITY, selector: patternOf(segment) }, signal, (part) => {
      for (const n of part) {
        const t = n.disk?.snapshots && (n.last === undefined || n.disk.last > n.last) ? n.disk.last : n.last
        const first = n.disk?.snapshots && (n.first === undefined || n.disk.first < n.first) ? n.disk.first : n.first
        if (n.level === Level.ENTITY && t !== undefined && !(asOf !== undefined && first !== undefined && first > asOf)) last.push([n.id, t])
      }
    })
    last.sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    this.all = await fetchThese(last.slice(0, mostExecutions).map(([id]) => id), asOf, signal)
    this.more = last.length > mostExecutions
  }

  /** Fetches those of which there is something new, by the times of their newest snapshots. */
  async take(news: ReadonlyMap<string, bigint>, signal: AbortSignal) {
    const oldest = this.more ? [...this.all.values()].reduce((t, e) => (e.seen < t ? e.seen : t), 1n << 62n) : -(1n << 63n)
    const changed = [...news].filter(([id, t]) => {
      const known = this.all.get(entityOf(id))
      return known ? known.seen !== t : t > oldest
    })
    changed.sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    const found = await fetchThese(changed.slice(0, mostExecutions).map(([id]) => id), undefined, signal)
    const all = [...this.all, ...found]
    this.more ||= new Map(all).size > mostExecutions
    this.all = new Map([...new Map(all)].sort(([, a], [, b]) => (a.seen < b.seen ? 1 : a.seen > b.seen ? -1 : 0)).slice(0, mostExecutions))
  }
}

async function fetchThese(ids: string[], asOf: bigint | undefined, signal: AbortSignal): Promise<Map<string, Execution>> {
  const found = new Map<string, Execution>()
  if (ids.length === 0) return found
  const providers = new Map<string, string[]>()
  for (const id of ids) {
    const [, , provider, entity] = namesOf(id)
    if (provider !== undefined && entity !== undefined) providers.set(provider, [...(providers.get(provider) ?? []), entity])
  }
  const children = [...providers].map(([provider, names]) => ({
    names: named([provider]),
    children: [{ names: named(names), snapshots: [latest()] }],
  }))
  const r = await memory.query(
    {
      memories: [{ names: named(['Skill']), children: [{ names: named(['Execution']), children }] }],
      asOf,
      json: true,
      fields: ['skill', 'status', 'started', 'timestamp', 'parent'],
    },
    { signal },
  )
  for (const it of items(r.memories)) {
    const v = (it.snapshot.instances[0] ? json(it.snapshot.instances[0]) : null) as Record<string, string> | null
    if (!v) continue
    found.set(entityOf(it.entity), {
      id: it.entity,
      name: namesOf(v.skill ?? '').pop() || namesOf(it.entity).pop()!,
      from: parse(v.started ?? '', 0n) ?? it.snapshot.time,
      to: hasEnded(v.status) ? it.snapshot.time : forever,
      state: v.status ?? '',
      parent: v.parent ?? '',
      seen: it.snapshot.time,
    })
  }
  return found
}

const named = (names: string[]) => ({ kind: { case: 'names' as const, value: { names } } })
