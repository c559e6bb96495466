// What comes from the server: whether it is there, what changes, and what there is.
import { ConnectError, Code } from '@connectrpc/connect'
import { inForce, patternOf, queryOf, type Selector } from 'engram-client'
import { Level, SlowPolicy, PatternSchema, type Snapshot, type Stats } from '@api/memory_pb'
import { create } from '@bufbuild/protobuf'
import { own } from './lib/own.svelte'
import { eachStats, idOf, items, memory, namesOf, quoteRegex, said, type Item } from './lib/api'
import { Pace } from './lib/pace'
import { clock, view } from './state.svelte'

/** Something that went wrong, and what to do about it. */
export interface Alert {
  key: string
  text: string
  hint?: string
  kind: 'error' | 'warning' | 'note'
  /** One by one, if there are several. */
  more?: string[]
  /** The view that shows more. */
  tab?: string
}

class Server {
  name = $state('')
  robot = $state('')
  version = $state('')
  memories = $state<string[]>([])
  connected = $state(false)
  epoch = 0n
  alerts = $state<Alert[]>([])
  #dismissed = new Map<string, string>()

  /** Tells of something until it is well, or dismissed; of the same as was dismissed not again. */
  alert(a: Alert) {
    if (this.#dismissed.get(a.key) === a.text) return
    this.alerts = this.alerts.some((b) => b.key === a.key) ? this.alerts.map((b) => (b.key === a.key ? a : b)) : [...this.alerts, a]
  }

  /** Says for a moment that something was done. */
  tell(text: string) {
    this.alert({ key: 'told', kind: 'note', text })
    setTimeout(() => this.well('told'), 3000)
  }

  dismiss(a: Alert) {
    this.well(a.key)
    this.#dismissed.set(a.key, a.text)
  }

  /** Takes back what was alerted of. */
  well(key: string) {
    this.#dismissed.delete(key)
    if (this.alerts.some((a) => a.key === key)) this.alerts = this.alerts.filter((a) => a.key !== key)
  }
}

export const server = new Server()

/** What a node holds, and how much of it comes a second. */
export interface Node {
  id: string
  name: string
  level: Level
  stats: Stats
  rate: number
}

class Tree {
  /** Memories, core and provider segments, in order. */
  nodes = $state<Node[]>([])
  /** The first and the last time of all. */
  first = $state<bigint | undefined>(undefined)
  last = $state<bigint | undefined>(undefined)
  loaded = $state(false)
  /** There is a long-term memory. */
  recorded = $state(false)
  /** Something came since the page looked before. */
  active = $state(false)
  #refused = new Map<string, bigint>()
  #before = new Map<string, { committed: bigint; at: number }>()

  async refresh(signal: AbortSignal) {
    const r = await memory.stats({ depth: Level.PROVIDER_SEGMENT }, { signal })
    this.nodes = this.rated(r.nodes)
    for (const n of r.nodes) {
      const before = this.#refused.get(n.id) ?? n.refused
      this.#refused.set(n.id, before < n.refused ? before : n.refused) // a server begins anew
    }
    let first: bigint | undefined, last: bigint | undefined
    for (const n of r.nodes) {
      if (n.level !== Level.MEMORY) continue
      for (const t of [n.first, n.disk?.snapshots ? n.disk.first : undefined]) if (t !== undefined && (first === undefined || t < first)) first = t
      for (const t of [n.last, n.disk?.snapshots ? n.disk.last : undefined]) if (t !== undefined && (last === undefined || t > last)) last = t
    }
    this.active = this.nodes.some((n) => n.level === Level.MEMORY && n.rate > 0)
    this.recorded = r.nodes.some((n) => n.disk !== undefined)
    this.first = first
    this.last = last
    this.loaded = true
  }

  /** How many updates core segments have refused since the page was opened; those that have. */
  refused(): { id: string; count: bigint }[] {
    return this.nodes
      .filter((n) => n.level === Level.CORE_SEGMENT)
      .map((n) => ({ id: n.id, count: n.stats.refused - (this.#refused.get(n.id) ?? 0n) }))
      .filter((n) => n.count > 0n)
  }

  /** The entities of a provider segment. */
  async entities(id: string, signal: AbortSignal): Promise<Node[]> {
    const all: Node[] = []
    await eachStats({ depth: Level.ENTITY, selector: patternOf(namesOf(id)) }, signal, (part) => all.push(...this.rated(part.filter((n) => n.level === Level.ENTITY))))
    return all
  }

  rated(all: Stats[]): Node[] {
    const now = performance.now()
    return all.map((stats) => {
      const before = this.#before.get(stats.id)
      let rate = 0
      if (before && now > before.at) rate = Math.max(0, (Number(stats.committed - before.committed) * 1000) / (now - before.at))
      if (!before || now - before.at > 900) this.#before.set(stats.id, { committed: stats.committed, at: now })
      const names = namesOf(stats.id)
      return { id: stats.id, name: names[names.length - 1] ?? '', level: stats.level, stats, rate }
    })
  }
}

export const tree = new Tree()

/** The entities whose ID has a text, in small letters or not. */
export async function entitiesLike(text: string, signal: AbortSignal): Promise<Node[]> {
  const quoted = quoteRegex(text.split('/').pop()!)
  const all = { kind: { case: undefined } } as const
  const selector = create(PatternSchema, { levels: [all, all, all, { kind: { case: 'regex', value: `(?i).*${quoted}.*` } }] })
  const found: Node[] = []
  await eachStats({ depth: Level.ENTITY, selector }, signal, (part) =>
    found.push(...tree.rated(part.filter((n) => n.level === Level.ENTITY && n.id.toLowerCase().includes(text.toLowerCase())))),
  )
  return found
}

/** The value of an entity that was in force at a time, from RAM or disk; the newest without one. */
export async function valueAt(
  entity: string,
  at: bigint | undefined,
  how: { asOf?: bigint; payload: boolean; signal: AbortSignal; lost?: (why: string) => void },
): Promise<Snapshot | undefined> {
  const r = await memory.query(
    { memories: [queryOf(namesOf(entity), [inForce(at)])], asOf: how.asOf, json: how.payload, withoutPayload: !how.payload },
    { signal: how.signal },
  )
  for (const it of items(r.memories)) return it.snapshot
  const lost = r.missing[0]
  if (lost) how.lost?.(lost.reason)
  return undefined
}

/** Snapshots of an entity, by time, without their payloads. */
export async function history(entity: string, select: Selector, asOf: bigint | undefined, signal: AbortSignal): Promise<Snapshot[]> {
  const r = await memory.query({ memories: [queryOf(namesOf(entity), [select])], asOf, withoutPayload: true }, { signal })
  const all: Item[] = [...items(r.memories)]
  return all.map((it) => it.snapshot).sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
}

/** What changed: entities, with the time of their newest snapshots. */
export type News = Map<string, bigint>

/**
 * The one stream of a page: which entities change, without their values. Panels say what they look at; what they show
 * they fetch, as fast as they can draw.
 */
class Stream {
  /** Updates that have come, and those that were left out since the page was too slow for them. */
  got = 0
  skipped = 0
  #wanted = new Map<symbol, { patterns: string[][]; tell: (news: News) => void }>()
  #abort?: AbortController
  #restart?: ReturnType<typeof setTimeout>
  #news: News = new Map()
  #frame = 0

  /** Has tell called, at most once a frame, when something under one of these (names from the memory down) changes. */
  watch(patterns: string[][], tell: (news: News) => void): () => void {
    const key = Symbol()
    this.#wanted.set(key, { patterns, tell })
    this.#again()
    return () => {
      this.#wanted.delete(key)
      this.#again()
    }
  }

  #again() {
    clearTimeout(this.#restart)
    this.#restart = setTimeout(() => {
      this.#abort?.abort()
      this.#abort = new AbortController()
      void this.#follow(this.#abort.signal)
    }, 30)
  }

  async #follow(signal: AbortSignal) {
    let pause = 200
    while (!signal.aborted) {
      try {
        const selectors = [...this.#wanted.values()].flatMap((w) => w.patterns.map(patternOf))
        if (selectors.length === 0) return
        const stream = memory.subscribe({ selectors, slow: SlowPolicy.SLOW_LATEST, start: { case: 'last', value: 1 } }, { signal })
        const pace = new Pace()
        for await (const r of stream) {
          await pace.rest()
          pause = 200
          for (const u of r.updates) {
            this.got++
            this.skipped += Number(u.dropped)
            const names = namesOf(u.id)
            if (names.length < 5) continue
            this.#news.set(u.id.slice(0, u.id.lastIndexOf('/')), u.snapshot?.time ?? u.arrived)
          }
          if (this.#news.size && !this.#frame) this.#frame = requestAnimationFrame(() => this.#tell())
        }
      } catch (e) {
        if (signal.aborted) return
        if (ConnectError.from(e).code === Code.PermissionDenied) {
          server.alert({ key: 'stream', kind: 'warning', text: `Changes cannot be followed: ${said(e)}`, hint: 'The page needs the right "subscribe" (docs/security.md).' })
          return
        }
      }
      await new Promise((done) => setTimeout(done, pause))
      pause = Math.min(pause * 2, 3000)
    }
  }

  #tell() {
    this.#frame = 0
    const news = this.#news
    this.#news = new Map()
    const all = [...news].map(([entity, t]) => ({ entity, t, names: namesOf(entity) }))
    for (const w of this.#wanted.values()) {
      const own: News = new Map()
      for (const { entity, t, names } of all) {
        if (w.patterns.some((p) => p.every((name, i) => name === names[i]))) own.set(entity, t)
      }
      if (own.size) w.tell(own)
    }
  }
}

export const stream = new Stream()

/** Follows the server: whether it is there, its clock, what it holds. To be called once. */
export function followServer() {
  let timer: ReturnType<typeof setTimeout> | undefined
  const abort = new AbortController()
  let lost = false
  const turn = async () => {
    try {
      const began = performance.now()
      const info = await memory.info({}, { signal: abort.signal, timeoutMs: 5000 })
      const took = performance.now() - began
      if (info.received) {
        const local = BigInt(Math.round((performance.timeOrigin + began + took / 2) * 1000)) * 1000n
        clock.ahead = (info.received + info.sent) / 2n - local
      }
      server.name = info.server
      server.version = info.version
      server.robot = own.robot = info.robot
      server.memories = info.memories
      if (server.epoch && server.epoch !== info.epoch) {
        server.alert({ key: 'epoch', kind: 'warning', text: 'The server was started anew.', hint: 'What it kept only in RAM is gone.' })
      }
      server.epoch = info.epoch
      await tree.refresh(abort.signal)
      if (lost) view.refresh()
      lost = false
      server.connected = true
      server.well('lost')
    } catch (e) {
      server.connected = false
      lost = true
      if (!abort.signal.aborted) {
        const code = ConnectError.from(e).code
        if (code === Code.Unauthenticated) {
          server.alert({ key: 'lost', kind: 'error', text: `The server does not let this browser look: ${said(e)}` }) // It says what to do.
        } else if (code === Code.PermissionDenied) {
          server.alert({ key: 'lost', kind: 'error', text: `The server does not let this browser look: ${said(e)}`, hint: 'Whom a server knows, and what they may read, is in docs/security.md.' })
        } else {
          server.alert({ key: 'lost', kind: 'error', text: `The server does not answer: ${said(e)}`, hint: 'The page tries again by itself. Is engram running?' })
        }
      }
    }
    timer = setTimeout(turn, document.hidden ? 10_000 : server.connected ? 2000 : 1000)
  }
  void turn()
  return () => {
    clearTimeout(timer)
    abort.abort()
  }
}

