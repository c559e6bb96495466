// How many snapshots of an entity there are over time (the server's piece /view/density).

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

/** The density of the first entity that was asked for; undefined if it is not there. */
export function densityOf(answer: Answer[]): Density | undefined {
  const [d] = answer
  return d && { from: BigInt(d.from), to: BigInt(d.to), counts: d.count, gaps: d.gaps.map((g) => [BigInt(g.from ?? d.from), BigInt(g.to ?? d.to)]) }
}
