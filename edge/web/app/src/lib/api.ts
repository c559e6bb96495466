// The API of the server that the page comes from.
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import * as client from 'engram-client'
import { LongTermService } from '@api/long_term_pb'
import { MemoryService, StatsSchema, type Stats, type StatsRequestSchema } from '@api/memory_pb'
import { own } from './own.svelte'
import { Pace } from './pace'

export { idOf, items, json, quoteRegex, robotOf, type Item } from 'engram-client'

/** How a call or a piece ended, whoever asked: there is, or is not, a right to it; what an entity says is, or is not, readable. */
type Outcome = { kind: 'denied' | 'allowed' | 'unreadable' | 'readable'; of: string; why: string }

let tell: (o: Outcome) => void = () => undefined
/** Has f told of outcomes from now on. */
export function onOutcome(f: (o: Outcome) => void) {
  tell = f
}

// Pieces that are made of what one entity says.
const decoded = /^(image|points|grid)$/

const watched: Interceptor = (next) => async (req) => {
  try {
    const r = await next(req)
    tell({ kind: 'allowed', of: req.method.name, why: '' })
    return r
  } catch (e) {
    if (ConnectError.from(e).code === Code.PermissionDenied) tell({ kind: 'denied', of: req.method.name, why: said(e) })
    throw e
  }
}
const transport = client.transportTo(location.origin, { interceptors: [watched] })

export const memory = createClient(MemoryService, transport)
export const longTerm = createClient(LongTermService, transport)

/** Calls stats, and takes the nodes in portions: those of very many entities are decoded without holding up the page. */
export async function eachStats(request: MessageInitShape<typeof StatsRequestSchema>, signal: AbortSignal, take: (part: Stats[]) => void) {
  // As a message without members the answer is the records of its nodes, not decoded yet.
  const r = await transport.unary({ ...MemoryService.method.stats, output: EmptySchema }, signal, undefined, undefined, request)
  const records = r.message.$unknown ?? []
  const pace = new Pace()
  for (let i = 0; i < records.length; i += 250) {
    await pace.rest()
    signal.throwIfAborted()
    take(records.slice(i, i + 250).map((f) => fromBinary(StatsSchema, new BinaryReader(f.data).bytes())))
  }
}

/** The names of an ID; that of the memory without the robot whose server this is. */
export const namesOf = (id: string): string[] => client.namesOf(id, own.robot)

/** The entity of the ID of a snapshot, an instance, or an entity; "" of one of a segment. */
export const entityOf = (id: string): string => client.entityOf(id, own.robot)

/** Whether a call was given up on purpose. */
export function cancelled(e: unknown): boolean {
  return ConnectError.from(e).code === Code.Canceled || (e instanceof DOMException && e.name === 'AbortError')
}

/** Whether an entity, or what is asked for, is not there. */
export function missing(e: unknown): boolean {
  return ConnectError.from(e).code === Code.NotFound
}

/** Whether the server could not be reached: browsers tell it in words of their own. */
export const isAway = (e: unknown): boolean => (e instanceof ConnectError ? isAway(e.cause) : e instanceof TypeError && /fetch|network|load failed/i.test(e.message))

/** What an error says. */
export function said(e: unknown): string {
  if (isAway(e)) return 'The server does not answer.'
  return e instanceof ConnectError ? e.rawMessage : e instanceof Error ? e.message : String(e)
}

type Params = Record<string, string | string[] | undefined>

/** A piece of the memory that is made for a screen; the error is what the server says. */
export async function piece(path: string, params: Params, signal?: AbortSignal): Promise<Response> {
  const r = await fetch(pieceURL(path, params), { signal })
  const asked = params.id === undefined ? path : `${path} of ${params.id}`
  if (!r.ok) {
    let text = r.statusText
    let code = ''
    try {
      const says = (await r.json()) as { code?: string; message?: string }
      text = says.message ?? text
      code = says.code ?? ''
    } catch {
      // It is not one of ours.
    }
    if (r.status === 403) tell({ kind: 'denied', of: asked, why: text })
    if (code === 'corrupt' && decoded.test(path)) tell({ kind: 'unreadable', of: String(params.id), why: text })
    throw new Error(text)
  }
  tell({ kind: 'allowed', of: asked, why: '' })
  if (decoded.test(path)) tell({ kind: 'readable', of: String(params.id), why: '' })
  return r
}

/** A piece that is JSON. */
export const pieceJSON = async <T>(path: string, params: Params, signal?: AbortSignal) => (await (await piece(path, params, signal)).json()) as T

export function pieceURL(path: string, params: Params): string {
  const q = new URLSearchParams()
  for (const [k, v] of Object.entries(params)) {
    if (v === undefined) continue
    for (const one of Array.isArray(v) ? v : [v]) q.append(k, one)
  }
  return `/view/${path}?${q}`
}
