// Types as forms and the inspector need them: what the descriptors say that a type travels with (docs/formats/idf.md).
import { createFileRegistry, fromBinary, ScalarType, type DescEnum, type DescField, type DescMessage, type JsonValue, type Message } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Instance } from '@api/memory_pb'
import { json, memory } from './api'

type Kind = 'bool' | 'int' | 'float' | 'text' | 'bytes' | 'choice' | 'time' | 'duration' | 'link' | 'struct' | 'list' | 'tuple' | 'dict' | 'json'

/** What a value can be. */
export interface Shape {
  kind: Kind
  /** As people call it: Double, List<String>, engram.world.Item. */
  name: string
  /** Of a struct; those below are made when they are asked for, as types may contain themselves. */
  readonly members: Member[]
  /** Of a list or dict. */
  readonly item?: Shape
  /** Of a tuple. */
  readonly items: Shape[]
  /** Of a choice, the one of number 0 first. */
  keys: string[]
  /** Of an integer: the least and the greatest. */
  limits?: [bigint, bigint]
  /** An element that may be null. */
  nullable: boolean
}

export interface Member {
  name: string
  shape: Shape
  /** It may be left out, and is then not set. */
  optional: boolean
  comment: string
  /** As far as the comment says, such as "m" or "rad or m". */
  unit: string
}

// The options of api/engram/idf/v1/options.proto.
const wrapperOption = 54100
const keyOption = 54120
const wrappers = ['', 'list', 'dict', 'tuple', 'optional']

function option(options: Message | undefined, no: number): BinaryReader | undefined {
  const found = options?.$unknown?.find((u) => u.no === no)
  return found && new BinaryReader(found.data)
}

const integers = new Map<ScalarType, [string, [bigint, bigint]]>([
  ...[ScalarType.INT32, ScalarType.SINT32, ScalarType.SFIXED32].map((t) => [t, ['Int', [-(1n << 31n), (1n << 31n) - 1n]]] as [ScalarType, [string, [bigint, bigint]]]),
  ...[ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64].map((t) => [t, ['Long', [-(1n << 63n), (1n << 63n) - 1n]]] as [ScalarType, [string, [bigint, bigint]]]),
  ...[ScalarType.UINT32, ScalarType.FIXED32].map((t) => [t, ['UInt', [0n, (1n << 32n) - 1n]]] as [ScalarType, [string, [bigint, bigint]]]),
  ...[ScalarType.UINT64, ScalarType.FIXED64].map((t) => [t, ['ULong', [0n, (1n << 64n) - 1n]]] as [ScalarType, [string, [bigint, bigint]]]),
])

const special: Record<string, [Kind, string]> = {
  'google.protobuf.Timestamp': ['time', 'Time'],
  'google.protobuf.Duration': ['duration', 'Duration'],
  'engram.idf.v1.Link': ['link', 'Link'],
  'engram.idf.v1.Value': ['json', 'any'],
  'engram.idf.v1.List': ['json', 'any list'],
  'engram.idf.v1.Dict': ['json', 'any dict'],
  'engram.idf.v1.Matrix': ['json', 'Matrix'],
  'engram.idf.v1.NDArray': ['json', 'NDArray'],
}

const plain = (kind: Kind, name: string): Shape => ({ kind, name, members: [], items: [], keys: [], nullable: false })

function scalar(t: ScalarType): Shape {
  const int = integers.get(t)
  if (int) return { ...plain('int', int[0]), limits: int[1] }
  if (t === ScalarType.BOOL) return plain('bool', 'Bool')
  if (t === ScalarType.STRING) return plain('text', 'String')
  if (t === ScalarType.BYTES) return plain('bytes', 'Bytes')
  return plain('float', t === ScalarType.FLOAT ? 'Float' : 'Double')
}

function choice(e: DescEnum): Shape {
  const key = (v: DescEnum['values'][number]) => option(v.proto.options, keyOption)?.string() || v.name
  const order = [...e.values].sort((a, b) => Number(b.number === 0) - Number(a.number === 0))
  return { ...plain('choice', e.typeName), keys: order.map(key) }
}

function once<T>(make: () => T): () => T {
  let made: { is: T } | undefined
  return () => (made ??= { is: make() }).is
}

const listOf = (item: Shape): Shape => ({ ...plain('list', `List<${item.name}>`), item })
const tupleOf = (items: Shape[]): Shape => ({ ...plain('tuple', `Tuple<${items.map((i) => i.name).join(', ')}>`), items })
const dictOf = (item: Shape): Shape => ({ ...plain('dict', `Dict<${item.name}>`), item })

function message(m: DescMessage): Shape {
  const known = special[m.typeName]
  if (known) return plain(...known)
  const first = m.fields[0]
  switch (wrappers[option(m.proto.options, wrapperOption)?.int32() ?? 0]) {
    case 'list':
    case 'dict':
      if (first) return field(first)
      break
    case 'tuple':
      return tupleOf(m.fields.map(field))
    case 'optional':
      if (first) return { ...field(first), nullable: true }
  }
  const members = once(() => m.fields.map((f) => member(f)))
  return {
    ...plain('struct', m.typeName),
    get members() {
      return members()
    },
  }
}

function field(f: DescField): Shape {
  switch (f.fieldKind) {
    case 'scalar':
      return scalar(f.scalar)
    case 'enum':
      return choice(f.enum)
    case 'message':
      return message(f.message)
    case 'list':
      return listOf(f.listKind === 'scalar' ? scalar(f.scalar) : f.listKind === 'enum' ? choice(f.enum) : message(f.message))
    case 'map':
      return dictOf(f.mapKind === 'scalar' ? scalar(f.scalar) : f.mapKind === 'enum' ? choice(f.enum) : message(f.message))
  }
}

function member(f: DescField): Member {
  const comment = commentOf(f)
  return { name: f.name, shape: field(f), optional: f.proto.proto3Optional || f.oneof !== undefined, comment, unit: unitOf(comment) }
}

function commentOf(f: DescField): string {
  const path = [f.parent.fields.indexOf(f), 2]
  let m: DescMessage | undefined = f.parent
  for (; m.parent; m = m.parent) path.push(m.parent.nestedMessages.indexOf(m), 3)
  path.push(f.parent.file.messages.indexOf(m), 4)
  path.reverse()
  const at = f.parent.file.proto.sourceCodeInfo?.location.find((l) => l.path.length === path.length && l.path.every((n, i) => n === path[i]))
  return `${at?.leadingComments ?? ''} ${at?.trailingComments ?? ''}`.replace(/\s+/g, ' ').trim()
}

const unit = String.raw`(?:met(?:re|er)s?(?: per second)?|radians|seconds|degrees|pixels|bytes|rad\/s|rad|m\/s²?|m|N m|Nm|N|kg|Hz|ms|s|px|°C|%)`
const units = new RegExp(String.raw`(?:^|[,;:(\[] ?| in )(${unit}(?: (?:or|and) ${unit})?)(?=[.,;:)\]]|$| of | for )`, 'g')
const short: Record<string, string> = { metre: 'm', metres: 'm', meter: 'm', meters: 'm', radians: 'rad', seconds: 's', degrees: '°', pixels: 'px' }

/** The unit that a comment says, "" if it says none: types of members have comments for it, and nothing else. */
export function unitOf(comment: string): string {
  const found = [...comment.matchAll(units)].map((m) => m[1]!.replace(/\S+/g, (w) => short[w] ?? w))
  return [...new Set(found)].slice(0, 2).join(' or ')
}

/** The unit of what stands in a member: that of the member where it is a list, a dict or a vector of such numbers. */
export function unitBelow(of: Shape, given: string, m?: Member): string {
  if (m?.unit) return m.unit
  if (of.name === 'foxglove.Pose' && m) return m.name === 'position' ? 'm' : ''
  if (of.kind === 'list' || of.kind === 'dict' || of.kind === 'tuple' || /^foxglove\.(Vector|Point)[23]$/.test(of.name)) return given
  return ''
}

/** What stands in something under a name or index, as its type says. */
export function memberOf(s: Shape | undefined, key: string): Member | undefined {
  if (s?.kind === 'struct') return s.members.find((m) => m.name === key)
  const shape = s?.items[Number(key)] ?? s?.item
  return shape && { name: key, shape, optional: false, comment: '', unit: '' }
}

const made = new Map<string, Promise<Shape>>()

/** The shape of a type that the server knows; it is asked for once, and again 10 s after it failed. */
export function shapeOf(name: string): Promise<Shape> {
  let shape = made.get(name)
  if (!shape) {
    shape = memory.getType({ name }).then((r) => {
      const m = createFileRegistry(fromBinary(FileDescriptorSetSchema, r.type?.descriptors ?? new Uint8Array())).getMessage(name)
      if (!m) throw new Error(`${name} is not in its own description`)
      return message(m)
    })
    made.set(name, shape)
    // What cannot be had is not asked for again with each value.
    shape.catch(() => setTimeout(() => made.delete(name), 10_000))
  }
  return shape
}

/** Forgets all shapes: a server that was started anew may have other types. */
export function forgetShapes() {
  made.clear()
}

type Struct = Record<string, JsonValue>
export const isStruct = (v: JsonValue | undefined): v is Struct => typeof v === 'object' && v !== null && !Array.isArray(v)

const messages: Kind[] = ['struct', 'time', 'duration', 'link', 'tuple', 'json']

/** What a new value is; undefined where only somebody can say. */
export function zero(s: Shape): JsonValue {
  switch (s.kind) {
    case 'bool':
      return false
    case 'int':
      return wide(s) ? '0' : 0
    case 'float':
      return 0
    case 'choice':
      return s.keys[0] ?? 0
    case 'list':
      return []
    case 'tuple':
      return s.items.map(zero)
    case 'dict':
      return {}
    case 'struct':
      return filled(s, {})
    case 'time':
      return '1970-01-01T00:00:00Z'
    case 'duration':
      return '0s'
    case 'json':
      return s.name === 'any list' ? [] : s.name === 'any dict' ? {} : null
    default:
      return ''
  }
}

/** A value, in the order of its type, with those of its members that its JSON leaves out because they are zero. */
export function withZeros(s: Shape | undefined, v: JsonValue): JsonValue {
  if (s?.kind !== 'struct' || !isStruct(v)) return v
  const out: Struct = {}
  for (const m of s.members) {
    const has = v[m.name]
    if (has !== undefined) out[m.name] = has
    else if (!m.optional && !messages.includes(m.shape.kind)) out[m.name] = zero(m.shape)
  }
  return { ...out, ...v }
}

/** A value with all that its JSON leaves out because it is zero. */
export function filled(s: Shape | undefined, v: JsonValue): JsonValue {
  if (!s || !['struct', 'list', 'tuple', 'dict'].includes(s.kind)) return v
  if (Array.isArray(v)) return s.item && !s.item.item && !s.item.items.length && s.item.kind !== 'struct' ? v : v.map((x, i) => filled(s.items[i] ?? s.item, x))
  if (!isStruct(v)) return v
  const all = { ...(withZeros(s, v) as Struct) }
  if (s.kind === 'struct') for (const m of s.members) if (all[m.name] !== undefined) all[m.name] = filled(m.shape, all[m.name]!)
  if (s.kind === 'dict') for (const k of Object.keys(all)) all[k] = filled(s.item, all[k]!)
  return all
}

/** What an instance says, with what its JSON leaves out. */
export async function valueOf(instance: Instance): Promise<JsonValue> {
  return filled(await describedBy(instance), json(instance))
}

/** The shape of what an instance says; undefined if the server does not describe it. */
export const describedBy = (instance: Instance): Promise<Shape | undefined> => shapeOf(instance.payload?.type ?? '').catch(() => undefined)

export const videoType = 'foxglove.CompressedVideo'

/** Whether a type is that of an image or of video. */
export const isImage = (type: string) => type === videoType || /^foxglove\.(Raw|Compressed)Image$/.test(type)

/** Whether payloads of a type are large and no text: they are not loaded to be read. */
export const isHeavy = (type: string) => isImage(type) || /^(foxglove\.(PointCloud|Grid)|engram\.vision\.Image)$/.test(type)

/** Whether JSON has these integers as text, since its numbers would lose digits. */
export const wide = (s: Shape) => s.limits !== undefined && s.limits[1] > 1n << 33n

/** The path of what stands in something, as filters, plots and errors name it. */
export function below(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  return /^[A-Za-z_]\w*$/.test(key) ? (path ? `${path}.${key}` : key) : `${path}[${JSON.stringify(key)}]`
}
