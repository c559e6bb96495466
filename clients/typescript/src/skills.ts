// Skills: what a robot can do, asked for by commits (docs/skills.md).
import { EngramError } from './errors.js'
import type { Memory, Value } from './memory.js'
import { namesOf } from './ids.js'
import { now, rfc3339 } from './times.js'

/** How far an execution has come. */
export interface Execution {
  /** The ID of its entity. */
  id: string
  /** Constructing, Initializing, Preparing, Running, Stopping; at the end Succeeded, Failed or Aborted. */
  status: string
  progress?: number
  message?: string
  result?: unknown
  error?: unknown
}

/** Whether an execution of a skill has ended, by its status. */
export const hasEnded = (status: unknown): boolean => /^(Succeeded|Failed|Aborted)$/.test(String(status))

/**
 * Asks for a skill, and returns its steps as they come; the last one is how it ended. Who leaves the loop, or aborts the signal,
 * has the skill stopped.
 */
export async function* run(memory: Memory, skill: string, parameters: Value = {}, how: { caller?: string; signal?: AbortSignal } = {}): AsyncGenerator<Execution> {
  const caller = how.caller ?? 'typescript'
  const name = `${namesOf(skill).pop()}-${now().toString(36)}`
  const request = `Skill/Request/${caller}/${name}`
  const id = `Skill/Execution/${caller}/${name}`
  const given = parameters && typeof parameters === 'object' && Object.keys(parameters).length ? { parameters } : {}
  await memory.commit(request, { timestamp: stamp(), skill, caller, on_caller_gone: 'continue', ...given })
  let ended = false
  try {
    for await (const u of memory.watch(id, { backfill: 1, ...(how.signal && { signal: how.signal }) })) {
      const v = (u.value ?? {}) as Record<string, unknown>
      const step: Execution = { id, status: String(v.status ?? 'Constructing'), ...pick(v, 'progress', 'message', 'result', 'error') }
      ended = hasEnded(step.status)
      yield step
      if (ended) return
    }
  } finally {
    if (!ended) await memory.commit(`Skill/Abort/${caller}/${name}-abort`, { timestamp: stamp(), request, reason: 'caller', message: 'the caller does not wait any longer', by: caller })
  }
  throw new EngramError('canceled', id, 'given up while the skill ran')
}

const stamp = () => rfc3339(now())

const pick = (v: Record<string, unknown>, ...names: string[]): Record<string, unknown> => Object.fromEntries(names.filter((n) => v[n] !== undefined).map((n) => [n, v[n]]))
