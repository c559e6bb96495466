// How many snapshots of an entity there are over time (the server's piece /view/density).
import { pieceJSON } from './api'

export interface Density {
  from: bigint
  to: bigint
  /** By bin; all are of the same length. */
  counts: number[]
  /** Where some are known to be lost. */
  gaps: [bigint, bigint][]
}

interface Answer {
  from: string
  to: string
  count: number[]
  gaps: { from?: string; to?: string }[]
}

/** Fetches the density of an entity, in so many bins, of all its time or a part; undefined if it is not there. */
export async function densityOf(id: string, bins: number, asOf: bigint | undefined, signal: AbortSignal, from?: bigint, to?: bigint): Promise<Density | undefined> {
  const [d] = await pieceJSON<Answer[]>('density', { id, from: from?.toString(), to: to?.toString(), n: String(bins), asof: asOf?.toString() }, signal)
  return d && { from: BigInt(d.from), to: BigInt(d.to), counts: d.count, gaps: d.gaps.map((g) => [BigInt(g.from ?? d.from), BigInt(g.to ?? d.to)]) }
}
