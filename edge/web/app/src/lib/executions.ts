// What skills did, and when.
import { queryOf } from 'engram-client'
import { items, json, memory, namesOf } from './api'
import { parse } from './time'

export interface Execution {
  id: string
  name: string
  from: bigint
  /** Far in the future while it runs. */
  to: bigint
  state: string
  /** The execution that called it; "" if none did. */
  parent: string
}

/** Whether an execution has ended, by its status. */
const hasEnded = (status: unknown) => /^(Succeeded|Failed|Aborted)$/.test(String(status))

/** All executions of skills, by the IDs of their entities. */
export async function executions(signal: AbortSignal): Promise<Map<string, Execution>> {
  const r = await memory.query(
    {
      memories: [queryOf(['Skill', 'Execution'], [{ kind: { case: 'latest', value: 1 } }])],
      json: true,
      fields: ['skill', 'status', 'started', 'timestamp', 'parent'],
    },
    { signal },
  )
  const found = new Map<string, Execution>()
  for (const it of items(r.memories)) {
    const v = (it.snapshot.instances[0] ? json(it.snapshot.instances[0]) : null) as Record<string, string> | null
    if (!v) continue
    found.set(it.entity, {
      id: it.entity,
      name: namesOf(v.skill ?? '').pop() || namesOf(it.entity).pop()!,
      from: parse(v.started ?? '', 0n) ?? it.snapshot.time,
      to: hasEnded(v.status) ? it.snapshot.time : 1n << 62n,
      state: v.status ?? '',
      parent: v.parent ?? '',
    })
  }
  return found
}
