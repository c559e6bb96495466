// Snapshots, and what they say.
import { toJson, type JsonValue } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import type { Instance as InstanceMessage, ResultNode, Snapshot as SnapshotMessage, Update as UpdateMessage } from '../../../gen/es/engram/v1/memory_pb.js'
import { entityOf, idOf, namesOf } from './ids.js'
import { idTime, timeOf } from './times.js'

/** One of the things that a snapshot says. */
export interface Instance {
  type: string
  /** Times and 64-bit integers are strings, bytes are base64. */
  value: JsonValue
  /** The payload as the classes of "engram gen typescript" read it, where it was asked for. */
  bytes: Uint8Array
  /** 0 to 1. */
  confidence?: number
  sent?: bigint
}

/** What an entity was said to be at a time. */
export interface Snapshot {
  /** Its own: the entity's, and its time. */
  id: string
  entity: string
  time: bigint
  /** When the server took it. */
  arrived: bigint
  instances: Instance[]
  /** What the first instance says. */
  value: JsonValue
}

/** A snapshot that was just committed. */
export interface Update extends Snapshot {
  /** It takes the place of an earlier one of the same time. */
  supersedes: boolean
  /** So many updates before it were lost, since who reads them was too slow, or the server was away for too long. */
  dropped: bigint
}

/** What an instance says, as JSON. */
export function json(instance: InstanceMessage): JsonValue {
  const v = instance.payload?.json
  return v ? toJson(ValueSchema, v) : null
}

function instanceOf(m: InstanceMessage): Instance {
  return {
    type: m.payload?.type ?? '',
    value: json(m),
    bytes: m.payload?.data ?? new Uint8Array(),
    ...(m.confidence !== undefined && { confidence: m.confidence }),
    ...(m.sent !== undefined && { sent: m.sent }),
  }
}

export function snapshotOf(entity: string, m: SnapshotMessage): Snapshot {
  const instances = m.instances.map(instanceOf)
  return { id: `${entity}/${idTime(m.time)}`, entity, time: m.time, arrived: m.arrived, instances, value: instances[0]?.value ?? null }
}

export function updateOf(u: UpdateMessage): Update | undefined {
  const time = namesOf(u.id)[4]
  if (time === undefined) return undefined
  const entity = entityOf(u.id)
  const said = u.snapshot ? snapshotOf(entity, u.snapshot) : { id: u.id, entity, time: timeOf(time), instances: [], value: null }
  return { ...said, arrived: u.arrived, supersedes: u.supersedes, dropped: u.dropped }
}

/** A snapshot of an answer with the ID of its entity, as the API has it. */
export interface Item {
  entity: string
  snapshot: SnapshotMessage
}

/** All snapshots of an answer. */
export function* items(nodes: ResultNode[], above: string[] = []): Generator<Item> {
  for (const n of nodes) {
    const names = [...above, n.name]
    for (const snapshot of n.snapshots) yield { entity: idOf(names), snapshot }
    yield* items(n.children, names)
  }
}
