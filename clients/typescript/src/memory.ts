// A memory server, and all that can be asked of it.
import { createFileRegistry, fromBinary, fromJson, type FileRegistry, type JsonValue } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema, ValueSchema } from '@bufbuild/protobuf/wkt'
import { createClient, type CallOptions, type Client, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { KnowledgeService } from '../../../gen/es/engram/v1/knowledge_pb.js'
import { LongTermService } from '../../../gen/es/engram/v1/long_term_pb.js'
import { FilterOrder, Level, MemoryService, SlowPolicy, Target, type Segment, type Stats } from '../../../gen/es/engram/v1/memory_pb.js'
import { PoseQuestion_When, PoseService, type PoseAnswer } from '../../../gen/es/engram/v1/pose_pb.js'
import { EngramError } from './errors.js'
import { exactly, idOf, namesOf } from './ids.js'
import { latest, type Selector, type Time } from './select.js'
import { items, snapshotOf, updateOf, type Snapshot, type Update } from './snapshots.js'
import { rfc3339, toTime } from './times.js'

export interface Options {
  /** For calls that are not streams, ms; default 30,000. */
  timeout?: number
  interceptors?: Interceptor[]
  /** Instead of fetch's: one of @connectrpc/connect-node with a client certificate, or to a Unix socket. */
  transport?: Transport
}

/** What can be committed: JSON, with times as Date or bigint and bytes as Uint8Array, or an encoded payload. */
export type Value = JsonValue | Date | bigint | Uint8Array | { [member: string]: Value | undefined } | readonly Value[]
export interface Encoded {
  type: string
  bytes: Uint8Array
}
export interface Said {
  /** One value, … */
  value?: Value | Encoded
  /** … or several. */
  values?: readonly (Value | Encoded)[]
  /** Of values in JSON; default: the segment's. */
  type?: string
  time?: Time
  /** 0 to 1. */
  confidence?: number
  /** Of each of several values. */
  confidences?: readonly (number | undefined)[]
}

export interface Ask {
  /** Default: the newest of each entity. */
  snapshots?: Selector[]
  /** A condition in CEL over the payload's members, and confidence, time, … (docs/filters.md). */
  where?: string
  /** Whether where chooses among the snapshots (default), or leaves out of those that were chosen. */
  filterLast?: boolean
  /** Only payloads of this type, and of types that extend it. */
  type?: string
  /** Only these members. */
  fields?: string[]
  /** As it was known at this time. */
  asOf?: Time
  /** Default: both. */
  from?: 'ram' | 'disk'
  /** Bytes instead of values; "none" leaves out both. */
  payload?: 'value' | 'bytes' | 'none'
  signal?: AbortSignal
}

export interface Watch {
  /** Begin with so many of the last snapshots of each entity; 0, the default, with what comes from now on. */
  backfill?: number
  /** Begin with what is kept from this time on. */
  since?: Time
  where?: string
  fields?: string[]
  payload?: 'value' | 'bytes' | 'none'
  /** What a slow reader is given: all but the oldest (default), or of each entity the newest. */
  slow?: 'drop oldest' | 'latest'
  /** Called when the server has begun to tell: what is committed from then on is told, or counted as dropped. */
  started?: () => void
  signal?: AbortSignal
}

/** Where a frame is in another one: metres, and a unit quaternion. */
export interface Pose {
  position: { x: number; y: number; z: number }
  orientation: { x: number; y: number; z: number; w: number }
  /** When it was so. */
  time: bigint
  /** What the answer rests on. */
  info: PoseAnswer['info']
}

/** The clients of the API's services, for what Memory has no method for. */
export interface Services {
  memory: Client<typeof MemoryService>
  longTerm: Client<typeof LongTermService>
  knowledge: Client<typeof KnowledgeService>
  poses: Client<typeof PoseService>
}

export function servicesOf(transport: Transport): Services {
  return {
    memory: createClient(MemoryService, transport),
    longTerm: createClient(LongTermService, transport),
    knowledge: createClient(KnowledgeService, transport),
    poses: createClient(PoseService, transport),
  }
}

/** The transport of an address: http://host:port; the page's own server is location.origin. */
export function transportTo(address: string, o: Pick<Options, 'interceptors'> = {}): Transport {
  if (!/^https?:\/\/[^/]+\/?$/.test(address)) throw new EngramError('invalid', address, `${JSON.stringify(address)} is no address: write http://host:port`)
  return createConnectTransport({ baseUrl: address, useBinaryFormat: true, ...(o.interceptors && { interceptors: o.interceptors }) })
}

/** A memory server. It connects when it is asked, and again when the connection broke. */
export class Memory {
  readonly services: Services
  #timeout: number
  #types = new Map<string, Promise<FileRegistry>>()

  constructor(
    readonly address = 'http://127.0.0.1:7411',
    o: Options = {},
  ) {
    this.services = servicesOf(o.transport ?? transportTo(address, o.interceptors ? { interceptors: o.interceptors } : {}))
    this.#timeout = o.timeout ?? 30_000
  }

  /** Says something of an entity, and returns the ID of the snapshot. Throws what the server refuses. */
  async commit(entity: string, value: Value | Encoded, how: Omit<Said, 'value' | 'values'> = {}): Promise<string> {
    const [result] = await this.commitAll({ [entity]: { value, ...how } })
    if (result instanceof EngramError) throw result
    return result!
  }

  /** Says something of many entities at once; each is taken or refused by itself, in order. */
  async commitAll(updates: Record<string, Said> | Iterable<[string, Said]>, signal?: AbortSignal): Promise<(string | EngramError)[]> {
    const list = Symbol.iterator in updates ? [...(updates as Iterable<[string, Said]>)] : Object.entries(updates)
    const r = await this.#call((o) =>
      this.services.memory.commit(
        {
          updates: list.map(([entity, s]) => ({
            entity,
            ...(s.time !== undefined && { time: toTime(s.time) }),
            instances: (s.values ?? [s.value ?? null]).map((v, i) => {
              const confidence = s.confidences?.[i] ?? s.confidence
              return { payload: payloadOf(v, s.type), ...(confidence !== undefined && { confidence }) }
            }),
          })),
        },
        o,
      ), signal)
    return r.results.map((one) => (one.error ? EngramError.of(one.error) : one.id))
  }

  /** The newest snapshot of an entity, or what was in force at a time; undefined if there is none. Throws "not found" where there
   * is no such memory or core segment. */
  async latest(entity: string, at?: Time, signal?: AbortSignal): Promise<Snapshot | undefined> {
    try {
      const r = await this.#call((o) => this.services.memory.latest({ entity, json: true, ...(at !== undefined && { atOrBefore: toTime(at) }) }, o), signal)
      return r.snapshot && snapshotOf(entity, r.snapshot)
    } catch (e) {
      const core = exactly(idOf(namesOf(entity).slice(0, 2)))
      if (e instanceof EngramError && e.code === 'not found' && (await this.segments(core, signal)).length > 0) return undefined
      throw e
    }
  }

  /** Snapshots of all entities that a pattern matches, such as Object/Instance/Camera/~cup.*, as they come from RAM and disk. */
  async *query(pattern: string, ask: Ask = {}): AsyncGenerator<Snapshot> {
    const { payload = 'value' } = ask
    const { signal, end } = ending(ask.signal)
    const stream = this.services.memory.queryStream(
      {
        pattern,
        snapshots: ask.snapshots ?? [latest()],
        where: ask.where ?? '',
        filterOrder: ask.filterLast ? FilterOrder.SELECT_THEN_FILTER : FilterOrder.FILTER_THEN_SELECT,
        type: ask.type ?? '',
        fields: ask.fields ?? [],
        target: ask.from === 'ram' ? Target.WM : ask.from === 'disk' ? Target.LTM : Target.BOTH,
        json: payload === 'value',
        withoutPayload: payload === 'none',
        ...(ask.asOf !== undefined && { asOf: toTime(ask.asOf) }),
      },
      { signal },
    )
    try {
      for await (const r of stream) for (const it of items(r.memories)) yield snapshotOf(it.entity, it.snapshot)
    } catch (e) {
      throw EngramError.from(e, this.address)
    } finally {
      end()
    }
  }

  /**
   * What is committed to entities that patterns match, for as long as one reads. When the connection breaks it goes on where
   * it was; what was lost meanwhile is counted by dropped. Ends with its signal.
   */
  async *watch(patterns: string | string[], how: Watch = {}): AsyncGenerator<Update> {
    const { payload = 'value', signal } = how
    const since = how.since === undefined ? undefined : toTime(how.since)
    let seen: { number: bigint; epoch: bigint } | undefined // the last update that was told, or after which to begin
    let epoch = 0n
    let backfill = 0n // the newest update when it began
    let pause = 20
    let begun = false
    while (!signal?.aborted) {
      const start = seen
        ? ({ case: 'resume', value: seen } as const)
        : since !== undefined
          ? ({ case: 'since', value: since } as const)
          : how.backfill
            ? ({ case: 'last', value: how.backfill } as const)
            : ({ case: undefined } as const)
      const one = ending(signal)
      try {
        const stream = this.services.memory.subscribe(
          {
            patterns: typeof patterns === 'string' ? [patterns] : patterns,
            start,
            where: how.where ?? '',
            fields: how.fields ?? [],
            json: payload === 'value',
            withData: payload !== 'none',
            slow: how.slow === 'latest' ? SlowPolicy.SLOW_LATEST : SlowPolicy.SLOW_DROP_OLDEST,
          },
          { signal: one.signal },
        )
        for await (const r of stream) {
          pause = 20
          if (!begun) how.started?.()
          begun = true
          if (r.epoch) {
            // Where nothing was told yet, the server did not refuse, but may leave out what it was told before it was asked.
            if (epoch && epoch !== r.epoch) throw new EngramError('conflict', this.address, 'the server has begun anew')
            epoch = r.epoch
            if (seen) seen = { number: seen.number, epoch }
            else {
              backfill = r.number ?? 0n
              if (start.case === undefined && r.number !== undefined) seen = { number: r.number, epoch }
            }
          }
          for (const u of r.updates) {
            if (seen && u.number <= seen.number) continue
            seen = { number: u.number, epoch }
            const update = updateOf(u)
            // A resumption within the backfill brings what lies before its beginning, too.
            if (update && !(since !== undefined && u.number <= backfill && update.time < since)) yield update
          }
        }
      } catch (e) {
        if (signal?.aborted) return
        const error = EngramError.from(e, this.address)
        // A server that began anew counts anew: what it has now is told from the beginning.
        if (error.code === 'conflict' && epoch) {
          seen = { number: 0n, epoch: 0n }
          epoch = backfill = 0n
        } else if (!begun || !/^(unavailable|internal|canceled|aborted|unknown|exhausted)$/.test(error.code)) throw error
      } finally {
        one.end()
      }
      await new Promise((done) => setTimeout(done, pause * (0.5 + Math.random())))
      pause = Math.min(2 * pause, 2000)
    }
  }

  /** The memories, core and provider segments that a pattern matches, with their types and bounds. */
  async segments(pattern = '*', signal?: AbortSignal): Promise<Segment[]> {
    return (await this.#call((o) => this.services.memory.describe({ pattern }, o), signal)).segments
  }

  /** Makes a core or provider segment. */
  async addSegment(id: string, how: { type?: string; maxCount?: number; maxBytes?: number } = {}, signal?: AbortSignal): Promise<void> {
    const history = { ...(how.maxCount !== undefined && { maxCount: BigInt(how.maxCount) }), ...(how.maxBytes !== undefined && { maxBytes: BigInt(how.maxBytes) }) }
    await this.#call((o) => this.services.memory.addSegment({ segment: { id, type: how.type ?? '', history } }, o), signal)
  }

  /** How much there is, down to a level. */
  async stats(pattern = '*', depth: Level = Level.PROVIDER_SEGMENT, signal?: AbortSignal): Promise<Stats[]> {
    return (await this.#call((o) => this.services.memory.stats({ pattern, depth }, o), signal)).nodes
  }

  /** The names of all types. */
  async types(signal?: AbortSignal): Promise<string[]> {
    return (await this.#call((o) => this.services.memory.listTypes({}, o), signal)).names
  }

  /** The descriptors of a type, with all that it uses; they are asked for once. */
  type(name: string): Promise<FileRegistry> {
    let known = this.#types.get(name)
    if (!known) {
      known = this.#call((o) => this.services.memory.getType({ name }, o)).then((r) => createFileRegistry(fromBinary(FileDescriptorSetSchema, r.type!.descriptors)))
      known.catch(() => this.#types.delete(name))
      this.#types.set(name, known)
    }
    return known
  }

  /** Makes a type known: a FileDescriptorSet, encoded, that holds its message and all that it uses. */
  async addType(name: string, descriptors: Uint8Array<ArrayBuffer>, signal?: AbortSignal): Promise<void> {
    await this.#call((o) => this.services.memory.addType({ type: { name, descriptors } }, o), signal)
  }

  /** Where a frame was in another one; the newest that all between them know, without a time. */
  async pose(target: string, source: string, at?: Time, signal?: AbortSignal): Promise<Pose> {
    const question = { target, source, ...(at === undefined ? { when: PoseQuestion_When.LATEST_COMMON } : { when: PoseQuestion_When.AT, time: toTime(at) }) }
    const r = await this.#call((o) => this.services.poses.lookUp({ questions: [question] }, o), signal)
    const a = r.answers[0]!
    if (a.error) throw EngramError.of(a.error)
    const p = a.pose!
    return { position: { x: p.x, y: p.y, z: p.z }, orientation: { x: p.qx, y: p.qy, z: p.qz, w: p.qw }, time: a.info?.targetTime ?? 0n, info: a.info }
  }

  async #call<T>(call: (o: CallOptions) => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await call({ timeoutMs: this.#timeout, ...(signal && { signal }) })
    } catch (e) {
      throw EngramError.from(e, this.address)
    }
  }
}

/** A signal for one stream, which also ends when who reads the stream has enough. */
function ending(signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const own = new AbortController()
  return { signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal, end: () => own.abort() }
}

/** What is committed: an encoded payload as it is, all else as JSON. */
function payloadOf(v: Value | Encoded, type = '') {
  if (v && typeof v === 'object' && 'bytes' in v && 'type' in v && v.bytes instanceof Uint8Array) return { type: v.type as string, data: v.bytes }
  return { type, json: fromJson(ValueSchema, plain(v as Value)) }
}

/** JSON as the server reads it: times in RFC 3339, large integers as strings, bytes in base64. */
function plain(v: Value | undefined, depth = 0): JsonValue {
  if (depth > 100) throw new EngramError('invalid', '', 'the value is nested over 100 deep, or contains itself')
  if (typeof v === 'number' && !Number.isFinite(v)) throw new EngramError('invalid', '', `${v} is not JSON: commit the bytes of a class of "engram gen typescript", or leave it out`)
  if (typeof v === 'function' || typeof v === 'symbol') throw new EngramError('invalid', '', `a ${typeof v} is nothing that a payload can hold`)
  if (v instanceof Date) return rfc3339(toTime(v))
  if (typeof v === 'bigint') return String(v)
  if (v instanceof Uint8Array) return btoa(Array.from(v, (b) => String.fromCharCode(b)).join(''))
  if (Array.isArray(v)) return v.map((one) => plain(one, depth + 1))
  if (v && typeof v === 'object') {
    const out: Record<string, JsonValue> = {}
    for (const [k, x] of Object.entries(v as Record<string, Value | undefined>)) if (x !== undefined) out[k] = plain(x, depth + 1)
    return out
  }
  return (v ?? null) as JsonValue
}
