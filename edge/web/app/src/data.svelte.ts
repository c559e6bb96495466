// What comes from the server: whether it is there, what changes, and what there is.
import { ConnectError, Code } from '@connectrpc/connect'
import { inForce, patternOf, queryOf, type Selector } from 'engram-client'
import { Level, SlowPolicy, PatternSchema, type Snapshot, type Stats } from '@api/memory_pb'
import { create } from '@bufbuild/protobuf'
import { own } from './lib/own.svelte'
import { eachStats, idOf, isAway, items, memory, namesOf, said, type Item } from './lib/api'
import { Changes, type News } from './lib/news'
import { Pace } from './lib/pace'
import { lastName, named } from './lib/texts'
import { levelsOf, mayMatch, type Levels } from './lib/patterns'
import { full, SECOND, timeIn } from './lib/time'
import { Turns } from './lib/turns'
import { beginOf, pause } from './lib/recording'
import { forgetShapes } from './lib/type'
import { clock, view } from './state.svelte'

/** Something that went wrong, and what to do about it. */
interface Alert {
  key: string
  text: string
  hint?: string
  kind: 'error' | 'warning' | 'note'
  /** One by one, if there are several. */
  more?: string[]
  /** What can be done at once. */
  act?: { name: string; run: () => void }
}

class Server {
  name = $state('')
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

/** Of how many nodes a page remembers how much there was, for their rates. */
const mostRated = 20_000

/** From when to when something holds, in RAM and on disk. */
function heldBy(n: Stats): [bigint, bigint][] {
  const held: [bigint, bigint][] = []
  if (n.first !== undefined && n.last !== undefined) held.push([n.first, n.last])
  if (n.disk?.snapshots) held.push([n.disk.first, n.disk.last])
  return held
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
  #before = new Map<string, { committed: bigint; at: number; rate: number }>()

  async refresh(signal: AbortSignal) {
    const r = await memory.stats({ depth: Level.PROVIDER_SEGMENT }, { signal })
    this.nodes = this.rated(r.nodes)
    for (const n of r.nodes) {
      const before = this.#refused.get(n.id) ?? n.refused
      this.#refused.set(n.id, before < n.refused ? before : n.refused) // a server begins anew
    }
    let first: bigint | undefined, last: bigint | undefined
    for (const n of r.nodes) {
      if (n.level !== Level.MEMORY || n.id === 'SystemState') continue // a server writes there by itself
      for (const [a, b] of heldBy(n)) {
        if (first === undefined || a < first) first = a
        if (last === undefined || b > last) last = b
      }
    }
    this.active = this.nodes.some((n) => n.level === Level.MEMORY && n.rate > 0)
    this.recorded = r.nodes.some((n) => n.disk !== undefined)
    this.first = first
    this.last = last
    this.loaded = true
  }

  /** Where a recording ends, after which nothing came for a minute; undefined while a robot lives. */
  get end(): bigint | undefined {
    return this.last !== undefined && clock.now - this.last > pause ? this.last : undefined
  }

  /** Tells where a recording is, if nothing is remembered of the last hour. */
  tellOfThePast() {
    const { last } = this
    if (!view.live || last === undefined || clock.read() - last < 3600n * SECOND) return server.well('past')
    const go = () => {
      const first = beginOf(this.nodes.filter((n) => n.level === Level.PROVIDER_SEGMENT && !n.id.startsWith('SystemState/')).flatMap(({ stats }) => heldBy(stats)), last)
      view.range = [first - (last - first) / 50n - 1n, last + (last - first) / 50n + 1n]
      view.seek(first)
    }
    server.alert({ key: 'past', kind: 'note', text: `The newest of what is remembered is of ${full(last, 0)}.`, act: { name: 'Go there', run: go } })
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

  /** Forgets how much there was: the server begins anew. */
  forget() {
    this.#before.clear()
  }

  rated(all: Stats[]): Node[] {
    const now = performance.now()
    const nodes = all.map((stats) => {
      const before = this.#before.get(stats.id)
      let rate = before?.rate ?? 0
      // Of a shorter time it would be chance.
      if (!before || now - before.at > 900) {
        if (before) rate = Math.max(0, (Number(stats.committed - before.committed) * 1000) / (now - before.at))
        this.#before.delete(stats.id) // The last one is the newest.
        this.#before.set(stats.id, { committed: stats.committed, at: now, rate })
      }
      const names = namesOf(stats.id)
      return { id: stats.id, name: names[names.length - 1] ?? '', level: stats.level, stats, rate }
    })
    for (const id of this.#before.keys()) {
      if (this.#before.size <= mostRated) break
      this.#before.delete(id)
    }
    return nodes
  }
}

export const tree = new Tree()

/** The entities whose ID has a text, in small letters or not. */
export async function entitiesLike(text: string, signal: AbortSignal): Promise<Node[]> {
  const all = { kind: { case: undefined } } as const
  const selector = create(PatternSchema, { levels: [all, all, all, { kind: { case: 'regex', value: lastName(text) } }] })
  const found: Node[] = []
  await eachStats({ depth: Level.ENTITY, selector }, signal, (part) =>
    found.push(...tree.rated(part.filter((n) => n.level === Level.ENTITY && named(n.id, text)))),
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

/** What a panel looks at: what has these names from the memory down, or what a pattern as text matches. */
type Watched = { names: string[] } | { text: string }

/** The names that what is looked at has, as far as they are certain. */
const levelsIn = (w: Watched): Levels => ('names' in w ? w.names : levelsOf(w.text))

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/** How often a page looks where no stream tells it, and whether a stream tells of what changes, ms. */
const everyLook = 1000
const everyCheck = 3000
/** Of how many a page remembers that no stream tells of them. */
const mostSilent = 100

function alertOfSilence(why: string) {
  server.alert({ key: 'stream', kind: 'warning', text: `Not all changes are told to this page, which looks each second instead: ${why}`, hint: 'It needs the right "subscribe" (docs/security.md).' })
}

/**
 * The one stream of a page: which entities change, without their values. Panels say what they look at; what they show
 * they fetch, as fast as they can draw.
 *
 * A page that is hidden has none. Where many are seen, or where the rules do not let this one be told of changes, it looks
 * each second instead.
 */
class Stream {
  /** Updates that have come, and those that were left out since the page was too slow for them. */
  got = 0
  skipped = 0
  #wanted = new Map<symbol, { watched: Watched[]; levels: Levels[]; tell: (news: News, oldest: News) => void }>()
  #abort?: AbortController
  #restart?: ReturnType<typeof setTimeout>
  #changes = new Changes()
  #frame = 0
  #turns = new Turns(() => this.#again())
  /** Segments and entities that change, of which the stream does not tell. */
  #silent = new Set<string>()

  constructor() {
    const look = () => {
      this.#turns.want(!document.hidden)
      this.#again()
    }
    look()
    document.addEventListener('visibilitychange', look)
    addEventListener('pagehide', () => this.#turns.want(false))
    addEventListener('pageshow', look)
  }

  /**
   * Has tell called, at most once a frame, when something under one of these (names from the memory down), or what a
   * pattern as text matches, changes; of a text perhaps for more than it matches.
   */
  watch(patterns: string[][] | string, tell: (news: News, oldest: News) => void): () => void {
    const key = Symbol()
    const watched: Watched[] = typeof patterns === 'string' ? [{ text: patterns }] : patterns.map((names) => ({ names }))
    this.#wanted.set(key, { watched, levels: watched.map(levelsIn), tell })
    this.#again()
    return () => {
      this.#wanted.delete(key)
      this.#again()
    }
  }

  /** As watch, but each change is told only so much later, ms, with all that come meanwhile. */
  watchSlowly(patterns: string[][] | string, every: number, tell: () => void): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined
    const leave = this.watch(patterns, () => {
      timer ??= setTimeout(() => {
        timer = undefined
        tell()
      }, every)
    })
    return () => {
      clearTimeout(timer)
      leave()
    }
  }

  #again() {
    clearTimeout(this.#restart)
    this.#restart = setTimeout(() => {
      this.#abort?.abort()
      if (document.hidden || this.#wanted.size === 0 || this.#turns.mine === undefined) return
      this.#abort = new AbortController()
      void (this.#turns.mine ? this.#follow(this.#abort.signal) : this.#look(this.#all, this.#abort.signal))
    }, 30)
  }

  #all = () => [...this.#wanted.values()].flatMap((w) => w.watched)

  async #follow(signal: AbortSignal) {
    let pause = 200
    let unreadable = false
    const all = this.#all()
    const entities = new Set(all.flatMap((w) => ('names' in w && w.names.length > 3 ? [idOf(w.names)] : [])))
    while (!signal.aborted) {
      const over = new AbortController()
      const told = new Set<string>()
      let checks = false
      try {
        const selectors = all.flatMap((w) => ('names' in w ? [patternOf(w.names)] : []))
        // A text that is no pattern would end the stream for all; whoever shows it says so.
        const patterns = unreadable ? ['*'] : all.flatMap((w) => ('text' in w ? [w.text] : []))
        const stream = memory.subscribe({ selectors, patterns, slow: SlowPolicy.SLOW_LATEST, start: { case: 'last', value: 1 } }, { signal })
        const pace = new Pace()
        for await (const r of stream) {
          await pace.rest()
          pause = 200
          if (!checks) void this.#check(told, AbortSignal.any([signal, over.signal]))
          checks = true
          for (const u of r.updates) {
            this.got++
            this.skipped += Number(u.dropped)
            const names = namesOf(u.id)
            if (names.length < 5) continue
            const entity = idOf(names.slice(0, 4))
            told.add(idOf(names.slice(0, 3)))
            if (entities.has(entity)) told.add(entity)
            this.#note(u.id.slice(0, u.id.lastIndexOf('/')), timeIn(names) ?? u.arrived)
          }
        }
      } catch (e) {
        if (signal.aborted) return
        if (ConnectError.from(e).code === Code.InvalidArgument) unreadable = true
        if (ConnectError.from(e).code === Code.PermissionDenied) {
          alertOfSilence(said(e))
          return this.#look(this.#all, signal)
        }
      }
      over.abort()
      await sleep(pause)
      pause = Math.min(pause * 2, 3000)
    }
  }

  #note(entity: string, t: bigint) {
    this.#changes.note(entity, t)
    this.#frame ||= requestAnimationFrame(() => this.#tell())
  }

  /** Has what is watched looked at again and again, as there is no stream that tells of it. */
  async #look(of: () => Watched[], signal: AbortSignal) {
    const segments = new Map<string, bigint>()
    const entities = new Map<string, bigint>()
    while (!signal.aborted) {
      const begun = performance.now()
      try {
        const { nodes } = await memory.stats({ depth: Level.PROVIDER_SEGMENT }, { signal })
        const changed = nodes.filter((n) => n.level === Level.PROVIDER_SEGMENT && segments.get(n.id) !== n.committed).map((n) => namesOf(n.id))
        for (const w of of()) {
          const levels = levelsIn(w)
          if (!changed.some((names) => mayMatch(levels, names))) continue
          const which = 'names' in w ? { selector: patternOf(w.names) } : { pattern: w.text }
          await eachStats({ depth: Level.ENTITY, ...which }, signal, (part) => {
            for (const n of part) {
              if (n.level !== Level.ENTITY || n.last === undefined || entities.get(n.id) === n.committed) continue
              entities.set(n.id, n.committed)
              this.#note(n.id, n.last)
            }
          }).catch((e) => {
            if (ConnectError.from(e).code !== Code.InvalidArgument) throw e // else it is no pattern; whoever shows it says so.
          })
        }
        for (const n of nodes) segments.set(n.id, n.committed)
      } catch {
        // It is looked again; followServer tells of a server that is away.
      }
      // Who has much to look at looks less often.
      await sleep(Math.max(everyLook, 4 * (performance.now() - begun)))
    }
  }

  /** Finds what changes without a word of it in the stream, since the rules leave it out; that is looked at instead. */
  async #check(told: Set<string>, signal: AbortSignal) {
    const first = new Map<string, bigint>()
    const due = new Set<string>()
    let looks = false
    for (;;) {
      if (!looks && this.#untold().length) {
        looks = true
        void this.#look(() => this.#untold(), signal)
      }
      await sleep(everyCheck)
      if (signal.aborted) return
      const silent = [...this.#silent].join()
      for (const id of this.#silent) if (told.has(id)) this.#silent.delete(id)
      for (const [id, committed] of await this.#committed(told, signal)) {
        const before = first.get(id)
        if (told.has(id)) continue
        if (due.has(id) && this.#silent.size < mostSilent) this.#silent.add(id)
        else if (before === undefined) first.set(id, committed)
        else if (before < committed) due.add(id) // The stream may be on its way.
      }
      if (signal.aborted || [...this.#silent].join() === silent) continue
      const [one] = this.#silent
      if (one === undefined) server.well('stream')
      else alertOfSilence(`it heard nothing of ${one}${this.#silent.size > 1 ? ` and ${this.#silent.size - 1} more` : ''}, which changes`)
    }
  }

  /** What is watched and silent. */
  #untold = () =>
    this.#all().flatMap((w): Watched[] => {
      const levels = levelsIn(w)
      const silent = [...this.#silent].map(namesOf).filter((names) => mayMatch(levels, names))
      return silent.map((names) => ('names' in w && w.names.length > names.length ? w : { names }))
    })

  /** How much was committed of what is watched, and not told of: by segment, or entity where that is watched. */
  async #committed(told: Set<string>, signal: AbortSignal): Promise<Map<string, bigint>> {
    const all = new Map<string, bigint>()
    for (const w of this.#all()) {
      const levels = levelsIn(w)
      if (levels.length < 4) {
        if ('text' in w && /(^|\/)~/.test(w.text)) continue // Only the server knows which segments match.
        for (const n of tree.nodes) if (n.level === Level.PROVIDER_SEGMENT && mayMatch(levels, namesOf(n.id))) all.set(idOf(namesOf(n.id)), n.stats.committed)
      } else if ('names' in w && !told.has(idOf(w.names))) {
        const r = await memory.stats({ selector: patternOf(w.names), depth: Level.ENTITY }, { signal }).catch(() => undefined)
        const n = r?.nodes.find((n) => n.level === Level.ENTITY)
        if (n) all.set(idOf(w.names), n.committed)
      }
    }
    return all
  }

  #tell() {
    this.#frame = 0
    const { newest, oldest } = this.#changes
    this.#changes = new Changes()
    const all = [...newest].map(([entity, t]) => ({ entity, t, names: namesOf(entity) }))
    for (const w of this.#wanted.values()) {
      const own: News = new Map()
      for (const { entity, t, names } of all) {
        if (w.levels.some((levels) => mayMatch(levels, names))) own.set(entity, t)
      }
      if (own.size) w.tell(own, oldest)
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
      own.robot = info.robot
      server.memories = info.memories
      const anew = server.epoch !== 0n && server.epoch !== info.epoch
      if (anew) {
        forgetShapes()
        tree.forget()
        server.well('epoch') // It is told again, though it was dismissed.
        server.alert({ key: 'epoch', kind: 'warning', text: 'The server was started anew.', hint: 'What it kept only in RAM is gone.' })
      }
      server.epoch = info.epoch
      await tree.refresh(abort.signal)
      tree.tellOfThePast()
      if (lost || anew) view.refresh()
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
          server.alert({ key: 'lost', kind: 'error', text: isAway(e) ? said(e) : `The server does not answer: ${said(e)}`, hint: 'The page tries again by itself. Is engram running?' })
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

