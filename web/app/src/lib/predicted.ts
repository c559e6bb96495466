// What numbers of an entity will be, as the server predicts them.
import { idTime } from 'engram-client'
import type { Prediction } from '@api/memory_pb'
import { memory } from './api'
import { seconds } from './series'

/** A predicted number over time; s since 1970. 9 of 10 truths lie between low and high. */
export interface Band {
  x: number[]
  mean: number[]
  low: number[]
  high: number[]
  /** The model that counted most at the end. */
  model: string
  /** By how much errors at the end were smaller lately than those of holding the last value; NaN is not known. */
  skill: number
  /** What may be, the most probable first, where that falls into several; else none. */
  ways: Way[]
}

/** One of several hypotheses of a number: the means at the times of its band. */
export interface Way {
  probability: number
  mean: number[]
}

const points = 8

/**
 * Bands by the paths of members, from a time on for so long; why names the reason if there is none.
 */
export async function predict(id: string, paths: string[], from: bigint, ahead: bigint, signal: AbortSignal): Promise<{ bands: Map<string, Band>; why: string }> {
  const times = Array.from({ length: points }, (_, i) => from + (ahead * BigInt(i + 1)) / BigInt(points))
  const r = await memory.predict({ ids: times.map((t) => `${id}/${idTime(t)}`) }, { signal })
  const bands = new Map<string, Band>()
  let why = ''
  for (const [i, p] of r.predictions.entries()) {
    if (p.error) why ||= p.error.message
    for (const m of p.members) {
      if (!paths.includes(m.path)) continue
      let b = bands.get(m.path)
      if (!b) bands.set(m.path, (b = { x: [], mean: [], low: [], high: [], model: '', skill: NaN, ways: [] }))
      b.x.push(seconds(times[i]!))
      b.mean.push(m.mean)
      b.low.push(m.low)
      b.high.push(m.high)
      b.model = m.model
      b.skill = m.skill
    }
  }
  for (const [path, b] of bands) b.ways = waysOf(r.predictions, path, b.mean)
  return { bands, why }
}

/**
 * The ways on which a number may go: those of the time that has the most hypotheses. At each other time a way goes on as the
 * hypothesis there that followed the most of its past situations, of several such the nearest; where there is one answer, as that.
 */
function waysOf(predictions: Prediction[], path: string, mean: number[]): Way[] {
  const told = predictions
    .filter((p) => p.members.some((m) => m.path === path))
    .map((p) => p.hypotheses.map((h) => ({ probability: h.probability, mean: h.members.find((m) => m.path === path)?.mean ?? NaN, from: new Set(h.from) })))
  const most = told.reduce((best, of, i) => (of.length >= told[best]!.length ? i : best), 0)
  const start = told[most] ?? []
  if (start.length < 2 || start.every((h) => h.mean === start[0]!.mean)) return []
  return start.map((way) => {
    const out = [...mean]
    for (const step of [-1, 1]) {
      let last = way.mean
      for (let i = step < 0 ? most : most + 1; i >= 0 && i < told.length; i += step) {
        const shared = (h: (typeof start)[number]) => [...h.from].filter((id) => way.from.has(id)).length
        const [next] = [...told[i]!].sort((a, b) => shared(b) - shared(a) || Math.abs(a.mean - last) - Math.abs(b.mean - last))
        if (next) out[i] = next.mean
        last = out[i]!
      }
    }
    return { probability: way.probability, mean: out }
  })
}
