// What is predicted, and how sure that is.
import type { Hypothesis as HypothesisMessage, Prediction } from '../../../gen/es/engram/v1/memory_pb.js'
import { entityOf } from './ids.js'
import { snapshotOf, type Snapshot } from './snapshots.js'

/** A number of a predicted payload. */
export interface PredictedMember {
  mean: number
  /** Standard deviation; of what is held, such as an enumeration, the probability of another value. */
  sd: number
  /** The band from low to high holds the truth in 9 of 10 cases. */
  low: number
  high: number
  /** That counted most. */
  model: string
  /** 1 minus the ratio of the errors lately to those of holding the last value; NaN is not known. */
  skill: number
}

/** A snapshot to come, with how sure it is. */
export interface Expected extends Snapshot {
  /** The numbers that were predicted, by their paths such as position[3]. */
  members: Record<string, PredictedMember>
  /**
   * Of each member that is a pose, by its path: 36 numbers row by row as ROS has them, x, y, z (m) and the rotation about the fixed
   * axes x, y, z (rad), in the frame in which the pose is told.
   */
  covariances: Record<string, number[]>
  /** What it rests on: snapshots; of a hypothesis the past situations that it followed, the nearest first. */
  sources: string[]
}

/** One of several things that may be. */
export interface Hypothesis extends Expected {
  /** Those of all add up to at most 1. */
  probability: number
}

/** A prediction: the most probable snapshot. */
export interface Predicted extends Expected {
  /** After the newest snapshot, ns; 0 for what is known. */
  horizon: bigint
  /** What may be, the most probable first; none says that this is the only one. The bands and covariances hold all. */
  hypotheses: Hypothesis[]
}

function expectedOf(entity: string, m: Prediction | HypothesisMessage): Expected {
  return {
    ...snapshotOf(entity, m.snapshot!),
    members: Object.fromEntries(m.members.map(({ path, mean, sd, low, high, model, skill }) => [path, { mean, sd, low, high, model, skill }])),
    covariances: Object.fromEntries(m.poses.map((p) => [p.path, p.covariance])),
    sources: m.from,
  }
}

/** Reads a prediction that has a snapshot. */
export function predictedOf(p: Prediction): Predicted {
  const entity = entityOf(p.id)
  const hypotheses = p.hypotheses.filter((h) => h.snapshot).map((h) => ({ ...expectedOf(entity, h), probability: h.probability }))
  return { ...expectedOf(entity, p), horizon: p.horizonNanos, hypotheses }
}
