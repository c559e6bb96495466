/**
 * Payloads as TypeScript objects: what classes written by "engram gen typescript" are built on.
 * Written by engram gen: do not edit. Runs in browsers and in Node; needs nothing else.
 *
 * A class says how each of its members stands on the wire, and converts itself to payload bytes
 * and back. Given the sender's type (Sender), a payload of another type is cast by the names of
 * its members. Malformed payloads throw PayloadError, which names the member.
 */

/** Something is wrong with a payload; member is the path, such as "pose.position.x". */
export class PayloadError extends Error {
  readonly reason: string
  readonly member: string

  constructor(reason: string, member = '') {
    super(member ? `${member}: ${reason}` : reason)
    this.name = 'PayloadError'
    this.reason = reason
    this.member = member
  }

  /** The same error, seen from the object that has the member. */
  under(name: string): PayloadError {
    const dot = this.member && !this.member.startsWith('[') ? '.' : ''
    return new PayloadError(this.reason, name + dot + this.member)
  }
}

/** A time, in nanoseconds since 1970-01-01 00:00:00 UTC. */
export class Time {
  readonly ns: bigint

  constructor(ns: bigint) {
    this.ns = ns
  }

  static now(): Time {
    return Time.of(new Date())
  }

  static of(date: Date): Time {
    return new Time(BigInt(date.getTime()) * 1_000_000n)
  }

  /** Rounded down to milliseconds. */
  date(): Date {
    return new Date(Number(floorDiv(this.ns, 1_000_000n)))
  }
}

/** A duration, in nanoseconds. */
export class Duration {
  readonly ns: bigint

  constructor(ns: bigint) {
    this.ns = ns
  }

  static of(seconds: number): Duration {
    return new Duration(BigInt(Math.round(seconds * 1e9)))
  }

  seconds(): number {
    return Number(this.ns) / 1e9
  }
}

/** The ID of something in a memory, such as "Object/Class/prior/cup". */
export class Link {
  readonly id: string

  constructor(id: string) {
    this.id = id
  }
}

/** A whole number of 32 bits in a Value; a bigint stands for one of 64. */
export class Int32 {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** A number of single precision in a Value; a number stands for one of double. */
export class Float32 {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export type Elements =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | Float64Array

/** A dense array in row-major order. */
export class NDArray<T extends Elements = Elements> {
  shape: number[]
  data: T

  constructor(shape: number[], data: T) {
    this.shape = shape
    this.data = data
  }

  at(...index: number[]): T[number] | undefined {
    let offset = 0
    for (let i = 0; i < this.shape.length; i++) offset = offset * this.shape[i]! + (index[i] ?? 0)
    return this.data[offset]
  }
}

/** A dense matrix in row-major order. */
export class Matrix<T extends Elements = Elements> {
  rows: number
  cols: number
  data: T

  constructor(rows: number, cols: number, data: T) {
    this.rows = rows
    this.cols = cols
    this.data = data
  }

  at(row: number, col: number): T[number] | undefined {
    return this.data[row * this.cols + col]
  }
}

/** Any datum. */
export type Value =
  | null
  | boolean
  | Int32
  | bigint
  | Float32
  | number
  | string
  | Time
  | Duration
  | Link
  | NDArray
  | Value[]
  | Map<string, Value>

/** What a constructor takes: the members of a class, of which any may be left out. */
export type Init<T> = Partial<Omit<T, 'toPayload' | 'equals'>>

/**
 * A member: number, name, shape on the wire; of those that exclude each other, their group; and
 * the property, if it cannot have the member's name.
 */
export type MemberTable = readonly (readonly [
  number: number,
  name: string,
  shape: string,
  oneof?: string,
  property?: string,
])[]

/** The constructor of a class of payloads. */
export interface PayloadClass<T extends Payload = Payload> {
  new (): T
  readonly type: string
  readonly members: MemberTable
}

const classes = new Map<string, PayloadClass>()
const enums = new Map<string, Enumeration>()

/** Makes a class known to those that have members of it. */
export function register(c: PayloadClass): void {
  classes.set(c.type, c)
}

/** Makes the keys of an enumeration known. */
export function registerEnum(type: string, keys: Readonly<Record<string, number>>): void {
  enums.set(type, new Enumeration(type, new Map(Object.entries(keys))))
}

/** The class of a type, if it was imported. */
export function classOf(type: string): PayloadClass | undefined {
  return classes.get(type)
}

/** An object that is the payload of a type. */
export abstract class Payload {
  /** The payload's bytes, members in the order of their numbers. */
  toPayload(): Uint8Array {
    const w = new Writer()
    layoutOf(this.constructor as PayloadClass).write(w, this as unknown as Values, 1)
    return w.bytes()
  }

  /** Whether the other is of the same class and has equal members. */
  equals(other: unknown): boolean {
    return other instanceof Payload && other.constructor === this.constructor && equal(this, other)
  }
}

/**
 * Reads a payload of the class's type or, with a sender, one of the sender's type: members are
 * found by name, numbers and enumerations converted where the value fits, the rest stays unset.
 * Bytes and aligned arrays are views of data, which must not change while they are in use.
 */
export function fromPayload<T extends Payload>(c: PayloadClass<T>, data: Uint8Array, sender?: Sender): T {
  const layout = layoutOf(c)
  const r = new Reader(data)
  return (sender ? sender.cast(r, layout) : layout.read(r, data.length, 1)) as unknown as T
}

function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a !== a && b !== b
  if (a.constructor !== b.constructor) return false
  if (ArrayBuffer.isView(a)) {
    const x = a as unknown as ArrayLike<unknown>
    const y = b as unknown as ArrayLike<unknown>
    return x.length === y.length && !Array.prototype.some.call(x, (v, i) => v !== y[i])
  }
  if (a instanceof Map) {
    const other = b as Map<unknown, unknown>
    return a.size === other.size && [...a].every(([k, v]) => other.has(k) && equal(v, other.get(k)))
  }
  const x = a as Values
  const y = b as Values
  const set = (of: Values) => Object.keys(of).filter((k) => of[k] !== undefined)
  return set(x).length === set(y).length && set(x).every((k) => equal(x[k], y[k]))
}

type Values = Record<string, unknown>

// The wire format.

const maxDepth = 100 // messages in messages, as in the memory
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5
const cut = () => new PayloadError('the payload is cut')
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const utf8 = new TextEncoder()
const floorDiv = (a: bigint, b: bigint) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n)

class Reader {
  readonly data: Uint8Array
  readonly view: DataView
  pos = 0

  constructor(data: Uint8Array) {
    this.data = data
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  }

  /** A varint that is known to be small, or of which only the low 32 bits count. */
  varint32(end: number): number {
    let result = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= end) throw cut()
      const b = this.data[this.pos++]!
      if (shift < 32) result |= (b & 0x7f) << shift
      if (b < 0x80) return result >>> 0
    }
    throw new PayloadError('a number has more than 10 bytes')
  }

  varint64(end: number): bigint {
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= end) throw cut()
      const b = this.data[this.pos++]!
      const bits = b & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high |= bits >> 4
      } else if (shift < 63) high |= bits << (shift - 32)
      else high |= bits << 31
      if (b < 0x80) return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
    }
    throw new PayloadError('a number has more than 10 bytes')
  }

  /** The end of the delimited record whose length is next. */
  length(end: number): number {
    const n = this.pos < end && this.data[this.pos]! < 0x80 ? this.data[this.pos++]! : Number(this.varint64(end))
    if (n > end - this.pos) throw cut()
    return this.pos + n
  }

  tag(end: number): number {
    const b = this.data[this.pos]!
    if (b < 0x80) this.pos++
    const tag = b < 0x80 ? b : Number(this.varint64(end))
    if (tag < 8 || tag > 0xffffffff) throw new PayloadError('the payload is malformed: a member has no valid number')
    return tag
  }

  skip(tag: number, end: number, depth = 0): void {
    switch (tag % 8) {
      case VARINT:
        this.varint32(end)
        return
      case BYTES:
        this.pos = this.length(end)
        return
      case FIXED32:
      case FIXED64:
        this.fixed(tag % 8 === FIXED32 ? 4 : 8, end)
        return
      case 3:
        if (depth >= maxDepth) break
        for (;;) {
          if (this.pos >= end) throw cut()
          const inner = this.tag(end)
          if (inner % 8 !== 4) this.skip(inner, end, depth + 1)
          else if (inner === tag + 1) return
          else break
        }
    }
    throw new PayloadError(`the payload is malformed: wire type ${tag % 8}`)
  }

  /** The position of a number of n bytes, after which is read on. */
  fixed(n: number, end: number): number {
    if (end - this.pos < n) throw cut()
    this.pos += n
    return this.pos - n
  }

  text(end: number): string {
    const start = this.pos
    this.pos = end
    if (end - start < 24) {
      // Short ones are ASCII as a rule.
      let s = ''
      let i = start
      for (; i < end && this.data[i]! < 0x80; i++) s += String.fromCharCode(this.data[i]!)
      if (i === end) return s
    }
    try {
      return strict.decode(this.data.subarray(start, end))
    } catch {
      throw new PayloadError('a text is not UTF-8')
    }
  }

  bytes(end: number): Uint8Array {
    const start = this.pos
    this.pos = end
    return this.data.subarray(start, end)
  }
}

class Writer {
  private data = new Uint8Array(256)
  private view = new DataView(this.data.buffer)
  private size = 0

  bytes(): Uint8Array {
    return this.data.slice(0, this.size)
  }

  private grow(n: number): void {
    if (this.size + n <= this.data.length) return
    const larger = new Uint8Array(Math.max(this.data.length * 2, this.size + n + 64))
    larger.set(this.data.subarray(0, this.size))
    this.data = larger
    this.view = new DataView(larger.buffer)
  }

  varint(n: number): void {
    this.grow(10)
    while (n >= 0x80) {
      this.data[this.size++] = (n % 0x80) | 0x80
      n = Math.floor(n / 0x80)
    }
    this.data[this.size++] = n
  }

  varint64(v: bigint): void {
    let n = BigInt.asUintN(64, v)
    if (n < 0x8000000000000n) return this.varint(Number(n))
    this.grow(10)
    for (; n >= 0x80n; n >>= 7n) this.data[this.size++] = Number(n & 0x7fn) | 0x80
    this.data[this.size++] = Number(n)
  }

  fixed(n: number, write: (view: DataView, at: number) => void): void {
    this.grow(n)
    write(this.view, this.size)
    this.size += n
  }

  raw(b: Uint8Array): void {
    this.grow(b.length)
    this.data.set(b, this.size)
    this.size += b.length
  }

  text(s: string): void {
    if (/[\ud800-\udfff]/.test(s) && !isWellFormed(s)) throw new PayloadError('a text has half of a character')
    this.raw(utf8.encode(s))
  }

  /** Writes what content writes, with its length before it. */
  delimited(content: () => void): void {
    this.grow(1)
    const start = ++this.size
    content()
    const n = this.size - start
    let extra = 0
    for (let rest = n; rest >= 0x80; rest = Math.floor(rest / 0x80)) extra++
    this.grow(extra + 10) // and not below, where only what stands before is kept
    if (extra > 0) this.data.copyWithin(start + extra, start, this.size)
    this.size = start - 1
    this.varint(n)
    this.size = start + extra + n
  }
}

function isWellFormed(s: string): boolean {
  for (const c of s) if (c.length === 1 && c >= '\ud800' && c <= '\udfff') return false
  return true
}

// Shapes: what a member can be, in the words that the generator writes.

interface Shape {
  kind: string // "list", "map", "tuple", "optional", ".name", or a word such as "double" or "time"
  parts: Shape[]
}

function parseShape(text: string): Shape {
  let at = 0
  const read = (): Shape => {
    const start = at
    while (at < text.length && !'<>,'.includes(text[at]!)) at++
    const shape: Shape = { kind: text.slice(start, at).trim(), parts: [] }
    if (text[at] === '<') {
      do {
        at++
        shape.parts.push(read())
      } while (text[at] === ',')
      at++
    }
    return shape
  }
  return read()
}

/** An enumeration's numbers by key; of a sender, its keys by number. */
class Enumeration {
  readonly type: string
  readonly numbers: Map<string, number>
  readonly keys?: Map<number, string>

  constructor(type: string, numbers: Map<string, number>, keys?: Map<number, string>) {
    this.type = type
    this.numbers = numbers
    if (keys) this.keys = keys
  }
}

/** A value of a sender's enumeration. */
class Key {
  readonly number: number
  readonly key: string

  constructor(number: number, key: string) {
    this.number = number
    this.key = key
  }
}

type Names = (name: string) => Layout | Enumeration
/** How a single value is read and written: bytes up to their end, without their length. */
interface Codec {
  wire: number
  read(r: Reader, end: number, depth: number): unknown
  write(w: Writer, v: unknown, depth: number): void
  isZero(v: unknown): boolean
}

interface Member {
  number: number
  name: string
  shape: Shape
  oneof: string
  property?: string
}

const propertyOf = (m: Member) => m.property ?? m.name

type Handler = (values: Values, r: Reader, end: number, depth: number) => void
type MemberWriter = (w: Writer, v: unknown, depth: number) => void

/** How the objects of a type are read and written. */
class Layout {
  readonly name: string
  readonly members: Member[]
  readonly names: Names
  private readonly make: () => Values
  private handlers?: Map<number, Handler>
  private writers?: [property: string, name: string, write: MemberWriter][]
  private oneofs: Member[][] = []
  /** Senders that fit. */
  readonly fitting = new WeakSet<Sender>()

  constructor(name: string, members: Member[], names: Names, make: () => Values) {
    this.name = name
    this.members = members
    this.names = names
    this.make = make
    const groups = new Map<string, Member[]>()
    for (const m of members) if (m.oneof) groups.set(m.oneof, [...(groups.get(m.oneof) ?? []), m])
    this.oneofs = [...groups.values()]
  }

  /** A new object, without members of it. */
  empty(): Values {
    return this.make()
  }

  read(r: Reader, end: number, depth: number, values = this.make()): Values {
    if (depth > maxDepth) throw new PayloadError(`messages are nested over ${maxDepth} deep`)
    this.handlers ??= new Map(this.members.flatMap((m) => handlersOf(m, this)))
    while (r.pos < end) {
      const tag = r.tag(end)
      const handler = this.handlers.get(tag)
      if (handler) handler(values, r, end, depth)
      else r.skip(tag, end)
    }
    return values
  }

  write(w: Writer, values: Values, depth: number): void {
    if (depth > maxDepth) throw new PayloadError(`objects are nested over ${maxDepth} deep`)
    for (const group of this.oneofs) {
      const given = group.filter((m) => values[propertyOf(m)] !== undefined)
      if (given.length > 1) throw new PayloadError(`excludes ${given[0]!.name}, which is set too`, given[1]!.name)
    }
    this.writers ??= [...this.members].sort((a, b) => a.number - b.number).map((m) => [propertyOf(m), m.name, memberWriter(m.number, m.shape, this.names)])
    for (const [property, name, write] of this.writers) {
      const v = values[property]
      if (v === undefined) continue
      try {
        write(w, v, depth)
      } catch (e) {
        throw asPayloadError(e, v).under(name)
      }
    }
  }
}

function asPayloadError(e: unknown, v: unknown): PayloadError {
  if (e instanceof PayloadError) return e
  return new PayloadError(`${words(v)} cannot be written: ${e instanceof Error ? e.message : String(e)}`)
}

function words(v: unknown): string {
  if (v instanceof Key) return v.key || String(v.number)
  if (typeof v === 'string') return JSON.stringify(v.slice(0, 50))
  if (typeof v === 'object' && v !== null) return v.constructor === Object ? 'an object' : `a ${v.constructor.name}`
  return String(v)
}

const layouts = new WeakMap<PayloadClass, Layout>()

function layoutOf(c: PayloadClass): Layout {
  let layout = layouts.get(c)
  if (!layout) {
    const members = c.members.map(([number, name, shape, oneof, property]) => ({ number, name, shape: parseShape(shape), oneof: oneof ?? '', property: property ?? name }))
    layout = new Layout(c.type, members, own, () => new c() as unknown as Values)
    layouts.set(c, layout)
  }
  return layout
}

function own(name: string): Layout | Enumeration {
  const e = enums.get(name)
  if (e) return e
  const c = classes.get(name)
  if (!c) throw new PayloadError(`no class of ${name} was imported`)
  return layoutOf(c)
}

const integers: Record<string, [least: bigint, greatest: bigint]> = {}
for (const [names, bits, signed] of [
  ['int32 sint32 sfixed32', 32n, true],
  ['int64 sint64 sfixed64', 64n, true],
  ['uint32 fixed32', 32n, false],
  ['uint64 fixed64', 64n, false],
] as const) {
  for (const name of names.split(' ')) integers[name] = signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n]
}
const isNumber = (kind: string) => kind in integers || kind === 'float' || kind === 'double'
const isLong = (kind: string) => kind.endsWith('64')

function small(v: unknown, kind: string): number {
  const [least, greatest] = integers[kind]!
  if (typeof v !== 'number' || !Number.isInteger(v) || v < Number(least) || v > Number(greatest)) throw new PayloadError(`${words(v)} does not fit ${kind}`)
  return v
}

function long(v: unknown, kind: string): bigint {
  const [least, greatest] = integers[kind]!
  if (typeof v !== 'bigint' || v < least || v > greatest) throw new PayloadError(`${words(v)} does not fit ${kind}`)
  return v
}

function double(v: unknown): number {
  if (typeof v !== 'number') throw new PayloadError(`${words(v)} is not a number`)
  return v
}

function text(v: unknown): string {
  if (typeof v !== 'string') throw new PayloadError(`${words(v)} is not a text`)
  return v
}

function scalarCodec(kind: string): Codec {
  const zero = (v: unknown): boolean => v === 0 || v === 0n
  const fixed = (n: number, read: (v: DataView, at: number) => unknown, write: (v: DataView, at: number, x: unknown) => void, isZero = zero): Codec => ({
    wire: n === 4 ? FIXED32 : FIXED64,
    read: (r, end) => read(r.view, r.fixed(n, end)),
    write: (w, x) => w.fixed(n, (v, at) => write(v, at, x)),
    isZero,
  })
  const varint = (read: (r: Reader, end: number) => unknown, write: (w: Writer, v: unknown) => void): Codec => ({ wire: VARINT, read, write, isZero: zero })
  switch (kind) {
    case 'bool':
      return {
        wire: VARINT,
        read: (r, end) => r.varint64(end) !== 0n,
        write: (w, v) => w.varint(v ? 1 : 0),
        isZero: (v) => v === false,
      }
    case 'float':
      return fixed(4, (v, at) => v.getFloat32(at, true), (v, at, x) => v.setFloat32(at, double(x), true), (v) => Object.is(v, 0))
    case 'double':
      return fixed(8, (v, at) => v.getFloat64(at, true), (v, at, x) => v.setFloat64(at, double(x), true), (v) => Object.is(v, 0))
    case 'fixed32':
      return fixed(4, (v, at) => v.getUint32(at, true), (v, at, x) => v.setUint32(at, small(x, kind), true))
    case 'sfixed32':
      return fixed(4, (v, at) => v.getInt32(at, true), (v, at, x) => v.setInt32(at, small(x, kind), true))
    case 'fixed64':
      return fixed(8, (v, at) => v.getBigUint64(at, true), (v, at, x) => v.setBigUint64(at, long(x, kind), true))
    case 'sfixed64':
      return fixed(8, (v, at) => v.getBigInt64(at, true), (v, at, x) => v.setBigInt64(at, long(x, kind), true))
    case 'int32':
      return varint(
        (r, end) => r.varint32(end) | 0,
        (w, v) => (small(v, kind) < 0 ? w.varint64(BigInt(v as number)) : w.varint(v as number)),
      )
    case 'uint32':
      return varint((r, end) => r.varint32(end), (w, v) => w.varint(small(v, kind)))
    case 'sint32':
      return varint(
        (r, end) => {
          const n = r.varint32(end)
          return (n >>> 1) ^ -(n & 1)
        },
        (w, v) => w.varint(((small(v, kind) << 1) ^ ((v as number) >> 31)) >>> 0),
      )
    case 'int64':
      return varint((r, end) => BigInt.asIntN(64, r.varint64(end)), (w, v) => w.varint64(long(v, kind)))
    case 'uint64':
      return varint((r, end) => r.varint64(end), (w, v) => w.varint64(long(v, kind)))
    case 'sint64':
      return varint(
        (r, end) => unzigzag(r.varint64(end)),
        (w, v) => w.varint64(zigzag(long(v, kind))),
      )
    case 'string':
      return { wire: BYTES, read: (r, end) => r.text(end), write: (w, v) => w.text(text(v)), isZero: (v) => v === '' }
    case 'bytes':
      return {
        wire: BYTES,
        read: (r, end) => r.bytes(end),
        write: (w, v) => {
          if (!(v instanceof Uint8Array)) throw new PayloadError(`${words(v)} is not a Uint8Array`)
          w.raw(v)
        },
        isZero: (v) => v instanceof Uint8Array && v.length === 0,
      }
  }
  throw new PayloadError(`there is no kind ${kind}`)
}

const zigzag = (v: bigint) => BigInt.asUintN(64, (v << 1n) ^ (v >> 63n))
const unzigzag = (n: bigint) => BigInt.asIntN(64, (n >> 1n) ^ -(n & 1n))

/** Calls f with the records of a message: numbers, and where delimited ones end. */
function records(r: Reader, end: number, f: (number: number, wire: number, stop: number) => void): void {
  while (r.pos < end) {
    const tag = r.tag(end)
    if (tag % 8 === BYTES) {
      const stop = r.length(end)
      f(Math.floor(tag / 8), BYTES, stop)
      r.pos = stop
    } else if (tag % 8 === VARINT) {
      f(Math.floor(tag / 8), VARINT, end)
    } else {
      r.skip(tag, end)
    }
  }
}

function readSeconds(r: Reader, end: number): bigint {
  let seconds = 0n
  let nanos = 0n
  records(r, end, (number, wire) => {
    if (wire !== VARINT) {
      if (number <= 2) throw new PayloadError('a time is malformed')
      return
    }
    const n = BigInt.asIntN(64, r.varint64(end))
    if (number === 1) seconds = n
    else if (number === 2) nanos = BigInt.asIntN(32, n)
  })
  return seconds * 1_000_000_000n + nanos
}

function writeSeconds(w: Writer, seconds: bigint, nanos: bigint): void {
  if (seconds !== 0n) {
    w.varint(8)
    w.varint64(seconds)
  }
  if (nanos !== 0n) {
    w.varint(16)
    w.varint64(nanos)
  }
}

const elementTypes = [
  undefined,
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  BigUint64Array,
  BigInt64Array,
  Float32Array,
  Float64Array,
] as const

/** Elements as a view of their bytes where these are aligned, else as a copy. */
function elements(dtype: number, shape: number[], bytes: Uint8Array): Elements {
  const type = elementTypes[dtype]
  if (!type) throw new PayloadError(`an array has the unknown element type ${dtype}`)
  const count = shape.reduce((a, b) => a * b, 1)
  if (shape.some((n) => n < 0) || count * type.BYTES_PER_ELEMENT !== bytes.length) {
    throw new PayloadError(`an array of shape ${shape.slice(0, 8).join(' x ')} and ${type.name} has ${bytes.length} bytes`)
  }
  const aligned = bytes.byteOffset % type.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice()
  return new type(aligned.buffer as ArrayBuffer, aligned.byteOffset, count)
}

function elementType(data: Elements): number {
  const n = elementTypes.findIndex((t) => t !== undefined && data instanceof t)
  if (n < 0) throw new PayloadError(`${words(data)} is not a typed array`)
  return n
}

const raw = (data: Elements) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)

function readArray(r: Reader, end: number, matrix: boolean): NDArray | Matrix {
  const shape: number[] = matrix ? [0, 0] : []
  let dtype = 0
  let data: Uint8Array = new Uint8Array(0)
  const [dtypeNumber, dataNumber] = matrix ? [3, 4] : [2, 3]
  records(r, end, (number, wire, stop) => {
    if (number === dataNumber && wire === BYTES) data = r.bytes(stop)
    else if (number === 1 && !matrix && wire === BYTES) while (r.pos < stop) shape.push(Number(BigInt.asIntN(64, r.varint64(stop))))
    else if (wire === VARINT) {
      const n = Number(BigInt.asIntN(64, r.varint64(end)))
      if (number === dtypeNumber) dtype = n
      else if (matrix && number < 3) shape[number - 1] = n
      else if (number === 1) shape.push(n)
      else if (number === dataNumber) throw new PayloadError('an array is malformed')
    } else if (number <= dataNumber) throw new PayloadError('an array is malformed')
  })
  const read = elements(dtype, shape, data)
  return matrix ? new Matrix(shape[0]!, shape[1]!, read) : new NDArray(shape, read)
}

function checkElements(shape: number[], data: Elements): void {
  if (shape.some((n) => !Number.isInteger(n) || n < 0) || shape.reduce((a, b) => a * b, 1) !== data.length) {
    throw new PayloadError(`${data.length} elements do not fill an array of ${shape.join(' x ') || 'no dimensions'}`)
  }
}

function writeMatrix(w: Writer, v: unknown): void {
  if (!(v instanceof Matrix)) throw new PayloadError(`${words(v)} is not a Matrix`)
  const dtype = elementType(v.data)
  checkElements([v.rows, v.cols], v.data)
  for (const [tag, n] of [[8, v.rows], [16, v.cols], [24, dtype]] as const) {
    if (n !== 0) {
      w.varint(tag)
      w.varint(n)
    }
  }
  if (v.data.length > 0) {
    w.varint(34)
    w.delimited(() => w.raw(raw(v.data)))
  }
}

function writeNDArray(w: Writer, v: unknown): void {
  if (!(v instanceof NDArray)) throw new PayloadError(`${words(v)} is not an NDArray`)
  const dtype = elementType(v.data)
  checkElements(v.shape, v.data)
  if (v.shape.length > 0) {
    w.varint(10)
    w.delimited(() => v.shape.forEach((n) => w.varint(n)))
  }
  w.varint(16)
  w.varint(dtype)
  if (v.data.length > 0) {
    w.varint(26)
    w.delimited(() => w.raw(raw(v.data)))
  }
}

/** Writes what anything looks like as a Value. */
function writeValue(w: Writer, v: unknown, depth: number): void {
  if (depth > maxDepth) throw new PayloadError(`objects are nested over ${maxDepth} deep`)
  const delimited = (number: number, content: () => void) => {
    w.varint(number * 8 + BYTES)
    w.delimited(content)
  }
  const plain = (number: number, codec: Codec, of: unknown) => {
    w.varint(number * 8 + codec.wire)
    codec.write(w, of, depth)
  }
  if (v === null || v === undefined) return
  if (typeof v === 'boolean') plain(1, scalarCodec('bool'), v)
  else if (v instanceof Int32) plain(2, scalarCodec('sint32'), v.value)
  else if (typeof v === 'bigint') plain(3, scalarCodec('sint64'), v)
  else if (v instanceof Float32) plain(4, scalarCodec('float'), v.value)
  else if (typeof v === 'number') plain(5, scalarCodec('double'), v)
  else if (typeof v === 'string') delimited(6, () => w.text(v))
  else if (v instanceof Time) delimited(7, () => specials['time']!.write(w, v, depth))
  else if (v instanceof Duration) delimited(8, () => specials['duration']!.write(w, v, depth))
  else if (v instanceof NDArray) delimited(9, () => writeNDArray(w, v))
  else if (v instanceof Link) delimited(12, () => specials['link']!.write(w, v, depth))
  else if (Array.isArray(v)) {
    delimited(10, () => {
      for (const item of v) {
        w.varint(10)
        w.delimited(() => writeValue(w, item, depth + 2))
      }
    })
  } else if (v instanceof Map) {
    delimited(11, () => {
      for (const [key, item] of sorted(v)) {
        w.varint(10)
        w.delimited(() => {
          w.varint(10)
          w.delimited(() => w.text(text(key)))
          w.varint(18)
          w.delimited(() => writeValue(w, item, depth + 3))
        })
      }
    })
  } else throw new PayloadError(`${words(v)} has no form in a Value`)
}

function readValue(r: Reader, end: number, depth: number): Value {
  if (depth > maxDepth) throw new PayloadError(`messages are nested over ${maxDepth} deep`)
  let value: Value = null
  while (r.pos < end) {
    const tag = r.tag(end)
    const number = Math.floor(tag / 8)
    const [kind, wire] = valueKinds[number] ?? ['', -1]
    if (wire < 0) {
      r.skip(tag, end)
      continue
    }
    if (tag % 8 !== wire) throw new PayloadError('a Value is malformed')
    const stop = wire === BYTES ? r.length(end) : end
    if (kind === 'list') {
      const items: Value[] = []
      records(r, stop, (n, w, until) => {
        if (n === 1 && w === BYTES) items.push(readValue(r, until, depth + 2))
        else if (w === VARINT) r.varint32(stop)
      })
      value = items
    } else if (kind === 'dict') {
      value = readDict(r, stop, depth)
    } else {
      const plain = (specials[kind] ?? scalarCodec(kind)).read(r, stop, depth + 1)
      value = kind === 'sint32' ? new Int32(plain as number) : kind === 'float' ? new Float32(plain as number) : (plain as Value)
    }
  }
  return value
}

const valueKinds: readonly (readonly [string, number] | undefined)[] = [
  undefined,
  ['bool', VARINT],
  ['sint32', VARINT],
  ['sint64', VARINT],
  ['float', FIXED32],
  ['double', FIXED64],
  ['string', BYTES],
  ['time', BYTES],
  ['duration', BYTES],
  ['ndarray', BYTES],
  ['list', BYTES],
  ['dict', BYTES],
  ['link', BYTES],
]

function readDict(r: Reader, end: number, depth: number): Map<string, Value> {
  const dict = new Map<string, Value>()
  records(r, end, (n, wire, stop) => {
    if (wire === VARINT) r.varint32(end)
    if (n !== 1 || wire !== BYTES) return
    let key = ''
    let value: Value = null
    records(r, stop, (number, w, until) => {
      if (w === VARINT) r.varint32(stop)
      else if (number === 1) key = r.text(until)
      else if (number === 2) value = readValue(r, until, depth + 3)
    })
    dict.set(key, value)
  })
  return dict
}

/** Reads and writes data of any type, engram.idf.v1.Value. */
export function decodeValue(data: Uint8Array): Value {
  return readValue(new Reader(data), data.length, 1)
}

export function encodeValue(v: Value): Uint8Array {
  const w = new Writer()
  writeValue(w, v, 1)
  return w.bytes()
}

const never = () => false
const specials: Record<string, Codec> = {
  time: {
    wire: BYTES,
    read: (r, end) => new Time(readSeconds(r, end)),
    write: (w, v) => {
      if (!(v instanceof Time)) throw new PayloadError(`${words(v)} is not a Time`)
      const seconds = floorDiv(v.ns, 1_000_000_000n)
      writeSeconds(w, seconds, v.ns - seconds * 1_000_000_000n)
    },
    isZero: never,
  },
  duration: {
    wire: BYTES,
    read: (r, end) => new Duration(readSeconds(r, end)),
    write: (w, v) => {
      if (!(v instanceof Duration)) throw new PayloadError(`${words(v)} is not a Duration`)
      writeSeconds(w, v.ns / 1_000_000_000n, v.ns % 1_000_000_000n)
    },
    isZero: never,
  },
  link: {
    wire: BYTES,
    read: (r, end) => {
      let id = ''
      records(r, end, (number, wire, stop) => {
        if (wire === VARINT) r.varint32(end)
        if (number === 1 && wire !== BYTES) throw new PayloadError('a link is malformed')
        if (number === 1) id = r.text(stop)
      })
      return new Link(id)
    },
    write: (w, v) => {
      if (!(v instanceof Link)) throw new PayloadError(`${words(v)} is not a Link`)
      if (v.id !== '') {
        w.varint(10)
        w.delimited(() => w.text(v.id))
      }
    },
    isZero: never,
  },
  matrix: { wire: BYTES, read: (r, end) => readArray(r, end, true), write: writeMatrix, isZero: never },
  ndarray: { wire: BYTES, read: (r, end) => readArray(r, end, false), write: writeNDArray, isZero: never },
  value: { wire: BYTES, read: (r, end, depth) => readValue(r, end, depth + 1), write: (w, v, depth) => writeValue(w, v, depth + 1), isZero: never },
}

function codecOf(shape: Shape, names: Names): Codec {
  const special = specials[shape.kind]
  if (special) return special
  if (shape.kind.startsWith('.')) {
    const named = names(shape.kind.slice(1))
    if (named instanceof Layout) return objectCodec(named)
    const number = scalarCodec('int32')
    const keys = named.keys
    return keys ? { ...number, read: (r, end, depth) => sendersKey(number.read(r, end, depth) as number, keys) } : number
  }
  switch (shape.kind) {
    case 'tuple':
      return tupleCodec(shape, names)
    case 'list':
    case 'map':
    case 'optional':
      return wrapperCodec(shape, names)
  }
  return scalarCodec(shape.kind)
}

const sendersKey = (number: number, keys: Map<number, string>) => new Key(number, keys.get(number) ?? '')

function objectCodec(layout: Layout): Codec {
  return {
    wire: BYTES,
    read: (r, end, depth) => layout.read(r, end, depth + 1),
    write: (w, v, depth) => {
      if (!(v instanceof Payload) || !isOf(v.constructor as PayloadClass, layout.name)) throw new PayloadError(`${words(v)} is not an object of ${layout.name}`)
      layout.write(w, v as unknown as Values, depth + 1)
    },
    isZero: never,
  }
}

function isOf(c: PayloadClass | null, type: string): boolean {
  for (; c?.type; c = Object.getPrototypeOf(c) as PayloadClass | null) if (c.type === type) return true
  return false
}

function tupleCodec(shape: Shape, names: Names): Codec {
  const members = shape.parts.map((part, i) => ({ number: i + 1, name: String(i), shape: part, oneof: '' }))
  const inner = new Layout('', members, names, () => Object.fromEntries(members.map((m) => [m.name, zeroOf(m.shape, names)])))
  return {
    wire: BYTES,
    read: (r, end, depth) => {
      const values = inner.read(r, end, depth + 1)
      return members.map((m) => values[m.name])
    },
    write: (w, v, depth) => {
      if (!Array.isArray(v) || v.length !== members.length) throw new PayloadError(`${words(v)} has not ${members.length} items`)
      inner.write(w, Object.fromEntries(v.map((item, i) => [String(i), item])), depth + 1)
    },
    isZero: never,
  }
}

/** Lists, dicts and optional items that are messages of their own; nothing is null there. */
function wrapperCodec(shape: Shape, names: Names): Codec {
  const inner = new Layout('', [{ number: 1, name: 'item', shape, oneof: '' }], names, () => ({ item: zeroOf(shape, names) }))
  return {
    wire: BYTES,
    read: (r, end, depth) => inner.read(r, end, depth + 1)['item'] ?? null,
    write: (w, v, depth) => {
      if (v !== null && v !== undefined) memberWriter(1, shape, names)(w, v, depth + 1)
    },
    isZero: never,
  }
}

/** What a member is that was not written. */
function zeroOf(shape: Shape, names: Names): unknown {
  switch (shape.kind) {
    case 'list':
      return []
    case 'map':
      return new Map()
    case 'optional':
      return undefined
    case 'bool':
      return false
    case 'string':
      return ''
    case 'bytes':
      return new Uint8Array(0)
  }
  if (shape.kind.startsWith('.')) {
    const named = names(shape.kind.slice(1))
    return named instanceof Enumeration && named.keys ? sendersKey(0, named.keys) : 0
  }
  return isLong(shape.kind) ? 0n : 0
}

function handlersOf(m: Member, layout: Layout): [number, Handler][] {
  const { shape } = m
  const property = propertyOf(m)
  const codec = shape.kind === 'map' ? undefined : codecOf(shape.kind === 'optional' || shape.kind === 'list' ? shape.parts[0]! : shape, layout.names)
  const named = (name: () => string, f: Handler): Handler => {
    return (values, r, end, depth) => {
      try {
        f(values, r, end, depth)
      } catch (e) {
        throw e instanceof PayloadError ? e.under(name()) : e
      }
    }
  }
  const wrong = named(
    () => m.name,
    () => {
      throw new PayloadError('the payload is malformed, or not of this type: it has another wire type')
    },
  )
  const found = new Map<number, Handler>([0, 1, 2, 3, 4, 5].map((wire) => [m.number * 8 + wire, wrong]))
  if (!codec) {
    found.set(m.number * 8 + BYTES, mapHandler(m, layout.names))
    return [...found]
  }
  const one = (r: Reader, end: number, depth: number) => {
    const stop = codec.wire === BYTES ? r.length(end) : end
    const v = codec.read(r, stop, depth)
    if (codec.wire === BYTES) r.pos = stop
    return v
  }
  if (shape.kind === 'list') {
    const add: Handler = (values, r, end, depth) => void (values[property] as unknown[]).push(one(r, end, depth))
    found.set(m.number * 8 + codec.wire, named(() => m.name, add))
    if (codec.wire !== BYTES) {
      const packed: Handler = (values, r, end, depth) => {
        const stop = r.length(end)
        const items = values[property] as unknown[]
        while (r.pos < stop) items.push(codec.read(r, stop, depth))
      }
      found.set(m.number * 8 + BYTES, named(() => m.name, packed))
    }
    return [...found]
  }
  const kind = shape.kind === 'optional' ? shape.parts[0]!.kind : ''
  const object = kind.startsWith('.') ? layout.names(kind.slice(1)) : undefined
  const others = layout.members.filter((o) => m.oneof && o.oneof === m.oneof && o !== m)
  const set: Handler = (values, r, end, depth) => {
    const before = values[property]
    if (object instanceof Layout && before !== undefined) {
      // Two records of a message are one.
      const stop = r.length(end)
      object.read(r, stop, depth + 1, before as Values)
    } else {
      values[property] = one(r, end, depth)
    }
    for (const o of others) values[propertyOf(o)] = undefined
  }
  found.set(m.number * 8 + codec.wire, named(() => m.name, set))
  return [...found]
}

function mapHandler(m: Member, names: Names): Handler {
  const property = propertyOf(m)
  const [key, item] = [m.shape.parts[0]!, m.shape.parts[1]!]
  const codec = codecOf(item, names)
  const plain = codec.wire !== BYTES || item.kind === 'string' || item.kind === 'bytes'
  const members = [
    { number: 1, name: 'key', shape: key, oneof: '' },
    { number: 2, name: 'value', shape: plain ? item : { kind: 'optional', parts: [item] }, oneof: '' },
  ]
  const entry = new Layout('', members, names, () => ({ key: zeroOf(key, names), value: plain ? zeroOf(item, names) : undefined }))
  return (values, r, end, depth) => {
    try {
      const stop = r.length(end)
      const read = entry.read(r, stop, depth + 1)
      // A message that was not written is empty.
      const value = read['value'] ?? (plain || item.kind === 'value' ? null : codec.read(new Reader(new Uint8Array(0)), 0, depth + 1))
      ;(values[property] as Map<unknown, unknown>).set(read['key'], value)
    } catch (e) {
      throw e instanceof PayloadError ? e.under(m.name) : e
    }
  }
}

function sorted(map: Map<unknown, unknown>): [unknown, unknown][] {
  return [...map].sort(([a], [b]) => (a === b ? 0 : (a as string) < (b as string) ? -1 : 1))
}

function memberWriter(number: number, shape: Shape, names: Names): MemberWriter {
  if (shape.kind === 'map') {
    const key = memberWriter(1, { kind: 'optional', parts: [shape.parts[0]!] }, names)
    const value = memberWriter(2, { kind: 'optional', parts: [shape.parts[1]!] }, names)
    return (w, v, depth) => {
      if (!(v instanceof Map)) throw new PayloadError(`${words(v)} is not a Map`)
      for (const [k, item] of sorted(v)) {
        w.varint(number * 8 + BYTES)
        try {
          w.delimited(() => {
            key(w, k, depth + 1)
            value(w, item, depth + 1)
          })
        } catch (e) {
          throw asPayloadError(e, item).under(`["${String(k)}"]`)
        }
      }
    }
  }
  const codec = codecOf(shape.kind === 'optional' || shape.kind === 'list' ? shape.parts[0]! : shape, names)
  const one: MemberWriter = (w, v, depth) => {
    w.varint(number * 8 + codec.wire)
    if (codec.wire === BYTES) w.delimited(() => codec.write(w, v, depth))
    else codec.write(w, v, depth)
  }
  if (shape.kind === 'optional') return one
  if (shape.kind !== 'list') return (w, v, depth) => (codec.isZero(v) ? undefined : one(w, v, depth))
  return (w, v, depth) => {
    if (!Array.isArray(v)) throw new PayloadError(`${words(v)} is not a list`)
    if (codec.wire !== BYTES) {
      if (v.length === 0) return
      w.varint(number * 8 + BYTES)
      w.delimited(() => v.forEach((item) => codec.write(w, item, depth)))
      return
    }
    v.forEach((item, i) => {
      try {
        one(w, item, depth)
      } catch (e) {
        throw asPayloadError(e, item).under(`[${i}]`)
      }
    })
  }
}

// Casting.

interface Field {
  number: number
  name: string
  label: number
  kind: string
  type: string
  oneof: string
  presence: boolean
}

interface Message {
  fields: Field[]
  wrapper: number
  map: boolean
}

const fieldKinds = ' double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32 enum sfixed32 sfixed64 sint32 sint64'.split(' ')
const specialTypes: Record<string, string> = {
  'google.protobuf.Timestamp': 'time',
  'google.protobuf.Duration': 'duration',
  'engram.idf.v1.Link': 'link',
  'engram.idf.v1.Matrix': 'matrix',
  'engram.idf.v1.NDArray': 'ndarray',
  'engram.idf.v1.Value': 'value',
}

/**
 * The type of who sent a payload: its full name, and the encoded FileDescriptorSet that it
 * travels with ("engram type descriptors NAME -o FILE" writes one).
 */
export class Sender {
  readonly name: string
  private readonly messages = new Map<string, Message>()
  private readonly enumerations = new Map<string, Enumeration>()
  private readonly known = new Map<string, Layout>()

  constructor(name: string, descriptors: Uint8Array) {
    this.name = name
    const r = new Reader(descriptors)
    each(r, descriptors.length, (number, stop) => {
      if (number !== 1) return
      const at = r.pos
      let [scope, syntax] = ['', '']
      each(r, stop, (n, end) => {
        if (n === 2) scope = r.text(end)
        else if (n === 12) syntax = r.text(end)
      })
      r.pos = at
      each(r, stop, (n, end) => {
        if (n === 4) this.readMessage(r, end, scope, syntax, 1)
        else if (n === 5) this.readEnum(r, end, scope)
      })
    })
    if (!specialTypes[name]) this.resolve(name)
  }

  /** An object of a layout from a payload of this type. */
  cast(r: Reader, to: Layout): Values {
    const shape = { kind: '.' + to.name, parts: [] }
    const end = r.data.length
    if (specialTypes[this.name]) {
      return convert(specials[specialTypes[this.name]!]!.read(r, end, 1), shape, to.names, 1) as Values
    }
    const layout = this.resolve(this.name) as Layout
    if (!to.fitting.has(this)) {
      checkObjects(layout, to, new Set())
      to.fitting.add(this)
    }
    return convert(layout.read(r, end, 1), shape, to.names, 1) as Values
  }

  private readonly resolve = (name: string): Layout | Enumeration => {
    const found = this.enumerations.get(name) ?? this.known.get(name)
    if (found) return found
    const message = this.messages.get(name)
    if (!message) throw new PayloadError(`the descriptors do not declare ${name}`)
    const members = message.fields.map((f) => ({ number: f.number, name: f.name, shape: this.shape(f, 0), oneof: f.oneof }))
    const layout = new Layout(name, members, this.resolve, () => {
      const values: Values = Object.create(null) as Values
      // What a sender has not written is unset, but for what is read into.
      for (const m of members) values[m.name] = m.shape.kind === 'list' || m.shape.kind === 'map' ? zeroOf(m.shape, this.resolve) : undefined
      return values
    })
    this.known.set(name, layout)
    return layout
  }

  private shape(f: Field, depth: number): Shape {
    if (depth > maxDepth) throw new PayloadError(`messages are nested over ${maxDepth} deep`)
    const message = f.kind === 'message' ? this.messages.get(f.type) : undefined
    if (f.label === 3 && message?.map && message.fields.length === 2) {
      const [key, value] = [...message.fields].sort((a, b) => a.number - b.number)
      return { kind: 'map', parts: [this.single(key!, depth), this.single(value!, depth)] }
    }
    if (f.label === 3) return { kind: 'list', parts: [this.single(f, depth)] }
    return f.presence ? { kind: 'optional', parts: [this.single(f, depth)] } : this.single(f, depth)
  }

  private single(f: Field, depth: number): Shape {
    if (f.kind !== 'message' && f.kind !== 'enum') return { kind: f.kind, parts: [] }
    const special = specialTypes[f.type]
    if (special) return { kind: special, parts: [] }
    const message = this.messages.get(f.type)
    if (message?.wrapper && message.fields.every((part, i) => part.number === i + 1)) {
      if (message.wrapper === 3) return { kind: 'tuple', parts: message.fields.map((part) => this.shape(part, depth + 1)) }
      if (message.fields.length === 1) return this.shape(message.fields[0]!, depth + 1)
    }
    return { kind: '.' + f.type, parts: [] }
  }

  private readMessage(r: Reader, end: number, scope: string, syntax: string, depth: number): void {
    if (depth > maxDepth) throw new PayloadError(`messages are nested over ${maxDepth} deep`)
    const at = r.pos
    let name = ''
    const message: Message = { fields: [], wrapper: 0, map: false }
    each(r, end, (n, stop) => {
      if (n === 1) name = r.text(stop)
      else if (n === 2) message.fields.push(readField(r, stop, syntax))
      else if (n === 7) {
        each(r, stop, (option, _, value) => {
          if (option === 7) message.map = value !== 0
          else if (option === 54100) message.wrapper = value
        })
      }
    })
    const full = scope ? `${scope}.${name}` : name
    this.messages.set(full, message)
    r.pos = at
    each(r, end, (n, stop) => {
      if (n === 3) this.readMessage(r, stop, full, syntax, depth + 1)
      else if (n === 4) this.readEnum(r, stop, full)
    })
  }

  private readEnum(r: Reader, end: number, scope: string): void {
    let name = ''
    const keys = new Map<number, string>()
    each(r, end, (n, stop) => {
      if (n === 1) name = r.text(stop)
      if (n !== 2) return
      let [key, written, number] = ['', '', 0]
      each(r, stop, (m, until, value) => {
        if (m === 1) key = r.text(until)
        else if (m === 2) number = value | 0
        else if (m === 3) {
          each(r, until, (option, last) => {
            if (option === 54120) written = r.text(last)
          })
        }
      })
      if (!keys.has(number)) keys.set(number, written || key)
    })
    const full = scope ? `${scope}.${name}` : name
    this.enumerations.set(full, new Enumeration(full, new Map(), keys))
  }
}

/** Calls f with the records of a descriptor: number, end of a delimited one, value of a number. */
function each(r: Reader, end: number, f: (number: number, stop: number, value: number) => void): void {
  records(r, end, (number, wire, stop) => {
    if (wire === VARINT) f(number, r.pos, r.varint32(end))
    else f(number, stop, 0)
  })
}

function readField(r: Reader, end: number, syntax: string): Field {
  const f: Field = { name: '', number: 0, label: 1, kind: '', type: '', oneof: '', presence: syntax !== 'proto3' }
  each(r, end, (n, stop, value) => {
    if (n === 1) f.name = r.text(stop)
    else if (n === 6) f.type = r.text(stop).replace(/^\./, '')
    else if (n === 3) f.number = value
    else if (n === 4) f.label = value
    else if (n === 5) f.kind = fieldKinds[value] ?? ''
    else if (n === 9) f.oneof = String(value)
    else if (n === 17) f.presence ||= value !== 0
  })
  if (f.kind === '' || f.kind === 'group') throw new PayloadError(`the member ${f.name} is of a kind that payloads have not`)
  f.presence ||= f.oneof !== '' || f.kind === 'message'
  return f
}

const kindWords: Record<string, string> = {
  string: 'a string', bool: 'a bool', list: 'a list', map: 'a dict', tuple: 'a tuple', ndarray: 'an array',
  matrix: 'a matrix', link: 'a link', time: 'a time', duration: 'a duration',
}
const shapeWords = (s: Shape) => kindWords[s.kind] ?? s.kind.replace(/^\./, '')

/** Refuses members of one name between which nothing can be cast, whether they are set or not. */
function check(a: Shape, aNames: Names, b: Shape, bNames: Names, seen: Set<string>): void {
  if (a.kind === 'optional') return check(a.parts[0]!, aNames, b.kind === 'optional' ? b.parts[0]! : b, bNames, seen)
  if (b.kind === 'optional') return check(a, aNames, b.parts[0]!, bNames, seen)
  const unfit = () => new PayloadError(`${shapeWords(a)} does not become ${shapeWords(b)}`)
  const either = (x: string, y: string) => (a.kind === x && b.kind === y) || (a.kind === y && b.kind === x)
  if (a.kind === 'value' || b.kind === 'value' || either('matrix', 'ndarray') || either('link', 'string')) return
  if (a.kind === b.kind && a.parts.length === b.parts.length && a.parts.length > 0) {
    if (a.kind === 'map' && a.parts[0]!.kind !== b.parts[0]!.kind) throw unfit()
    a.parts.forEach((part, i) => {
      try {
        check(part, aNames, b.parts[i]!, bNames, seen)
      } catch (e) {
        throw e instanceof PayloadError && a.kind === 'tuple' ? e.under(`[${i}]`) : e
      }
    })
    return
  }
  const from = a.kind.startsWith('.') ? aNames(a.kind.slice(1)) : undefined
  const to = b.kind.startsWith('.') ? bNames(b.kind.slice(1)) : undefined
  if (from instanceof Layout && to instanceof Layout) return checkObjects(from, to, seen)
  const simple = (s: Shape, named: unknown) => (named instanceof Layout ? 'object' : named ? 'enum' : isNumber(s.kind) ? 'number' : s.kind)
  const pair = [simple(a, from), simple(b, to)]
  if (pair.every((k) => k === 'enum' || k === 'number')) return
  if (pair.includes('enum') && pair.includes('string')) return
  if (pair[0] !== pair[1] || pair[0] === 'object' || a.parts.length !== b.parts.length) throw unfit()
}

function checkObjects(a: Layout, b: Layout, seen: Set<string>): void {
  const pair = `${a.name} ${b.name}`
  if (seen.has(pair)) return
  seen.add(pair)
  for (const m of b.members) {
    const from = a.members.find((f) => f.name === m.name)
    if (!from) continue
    try {
      check(from.shape, a.names, m.shape, b.names, seen)
    } catch (e) {
      throw e instanceof PayloadError ? e.under(m.name) : e
    }
  }
}

const isObject = (v: unknown): v is Values => typeof v === 'object' && v !== null && Object.getPrototypeOf(v) === null

/** A sender's value as one of ours. */
function convert(v: unknown, to: Shape, names: Names, depth: number): unknown {
  if (depth > maxDepth) throw new PayloadError(`objects are nested over ${maxDepth} deep`)
  const at = (place: string, item: unknown, shape: Shape, of = names) => {
    try {
      return convert(item, shape, of, depth + 1)
    } catch (e) {
      throw e instanceof PayloadError ? e.under(place) : e
    }
  }
  const unfit = () => new PayloadError(`${words(v)} does not become ${shapeWords(to)}`)
  const none = v === undefined || v === null
  switch (to.kind) {
    case 'optional':
      return none ? v : convert(v, to.parts[0]!, names, depth)
    case 'value':
      return asValue(v)
    case 'list':
      if (none) return []
      if (!Array.isArray(v)) throw unfit()
      return v.map((item, i) => at(`[${i}]`, item, to.parts[0]!))
    case 'map': {
      if (none) return new Map()
      if (!(v instanceof Map)) throw unfit()
      return new Map([...v].map(([k, item]: [unknown, unknown]) => [k, at(`["${String(k)}"]`, item, to.parts[1]!)]))
    }
    case 'tuple':
      if (!Array.isArray(v) || v.length !== to.parts.length) throw unfit()
      return v.map((item, i) => at(`[${i}]`, item, to.parts[i]!))
    case 'matrix':
      if (v instanceof NDArray && v.shape.length === 2) return new Matrix(v.shape[0]!, v.shape[1]!, v.data)
      if (v instanceof Matrix) return v
      throw unfit()
    case 'ndarray':
      if (v instanceof Matrix) return new NDArray([v.rows, v.cols], v.data)
      if (v instanceof NDArray) return v
      throw unfit()
    case 'link':
      if (typeof v === 'string') return new Link(v)
      if (v instanceof Link) return v
      throw unfit()
    case 'time':
      if (v instanceof Time) return v
      throw unfit()
    case 'duration':
      if (v instanceof Duration) return v
      throw unfit()
  }
  if (none) return zeroOf(to, names)
  if (!to.kind.startsWith('.')) return convertScalar(v, to)
  const named = names(to.kind.slice(1))
  if (named instanceof Layout) {
    const entries = v instanceof Map ? (Object.assign(Object.create(null) as Values, Object.fromEntries(v)) as Values) : v
    if (!isObject(entries)) throw unfit()
    const made = named.empty()
    for (const m of named.members) {
      const given = entries[m.name]
      if (given !== undefined && given !== null) made[propertyOf(m)] = at(m.name, given, m.shape, named.names)
    }
    return made
  }
  const key = v instanceof Key ? v.key : typeof v === 'string' ? v : ''
  if (key !== '') {
    const number = named.numbers.get(key)
    if (number === undefined) throw new PayloadError(`${named.type} has no value ${key}`)
    return number
  }
  return convertScalar(v instanceof Key ? v.number : v, { kind: 'int32', parts: [] })
}

function convertScalar(v: unknown, to: Shape): unknown {
  const unfit = (reason = 'become') => new PayloadError(`${words(v)} does not ${reason} ${shapeWords(to)}`)
  if (v instanceof Int32 || v instanceof Float32) v = v.value
  if (to.kind === 'string') {
    if (v instanceof Link) return v.id
    if (v instanceof Key) return v.key || String(v.number)
    if (typeof v === 'string') return v
    throw unfit()
  }
  if (v instanceof Key) v = v.number
  if (to.kind === 'bytes' && v instanceof Uint8Array) return v
  if (to.kind === 'bool' && typeof v === 'boolean') return v
  if (!isNumber(to.kind) || (typeof v !== 'number' && typeof v !== 'bigint')) throw unfit()
  if (to.kind === 'float' || to.kind === 'double') {
    const number = to.kind === 'float' ? Math.fround(Number(v)) : Number(v)
    if (typeof v === 'bigint' ? BigInt(isFinite(number) ? number : 0) !== v : !isFinite(number) && isFinite(v)) throw unfit('fit')
    return number
  }
  if (typeof v === 'number' && !Number.isInteger(v)) throw unfit('fit')
  const whole = BigInt(v)
  const [least, greatest] = integers[to.kind]!
  if (whole < least || whole > greatest) throw unfit('fit')
  return isLong(to.kind) ? whole : Number(whole)
}

function asValue(v: unknown): Value {
  if (v === undefined || v === null) return null
  if (v instanceof Key) return v.key || BigInt(v.number)
  if (Array.isArray(v)) return v.map(asValue)
  if (v instanceof Map) return new Map([...v].map(([k, item]: [unknown, unknown]) => [String(k), asValue(item)]))
  if (isObject(v)) return new Map(Object.entries(v).flatMap(([k, item]) => (item === undefined ? [] : [[k, asValue(item)]])))
  if (v instanceof Matrix) return new NDArray([v.rows, v.cols], v.data)
  if (v instanceof Uint8Array) return new NDArray([v.length], v)
  return v as Value
}

// The special types that have classes.

/** A vector or position, m: foxglove.Vector3. */
export class Vector3 extends Payload {
  static readonly type: string = 'foxglove.Vector3'
  static readonly members: MemberTable = [
    [1, 'x', 'double'],
    [2, 'y', 'double'],
    [3, 'z', 'double'],
  ]
  x = 0
  y = 0
  z = 0

  constructor(init: Init<Vector3> = {}) {
    super()
    Object.assign(this, init)
  }

  static of(x: number, y: number, z: number): Vector3 {
    return new Vector3({ x, y, z })
  }
}
register(Vector3)

/** A rotation: foxglove.Quaternion. One that was not written is all zeros, not the identity. */
export class Quaternion extends Payload {
  static readonly type: string = 'foxglove.Quaternion'
  static readonly members: MemberTable = [
    [1, 'x', 'double'],
    [2, 'y', 'double'],
    [3, 'z', 'double'],
    [4, 'w', 'double'],
  ]
  x = 0
  y = 0
  z = 0
  w = 0

  constructor(init: Init<Quaternion> = {}) {
    super()
    Object.assign(this, init)
  }

  static identity(): Quaternion {
    return new Quaternion({ w: 1 })
  }

  /** The rotation by other, then by this. */
  times(other: Quaternion): Quaternion {
    const { x, y, z, w } = this
    return new Quaternion({
      x: w * other.x + x * other.w + y * other.z - z * other.y,
      y: w * other.y - x * other.z + y * other.w + z * other.x,
      z: w * other.z + x * other.y - y * other.x + z * other.w,
      w: w * other.w - x * other.x - y * other.y - z * other.z,
    })
  }

  /** The vector, rotated; the quaternion must be of length 1. */
  rotate(v: Vector3): Vector3 {
    const q = this.times(new Quaternion({ x: v.x, y: v.y, z: v.z })).times(new Quaternion({ x: -this.x, y: -this.y, z: -this.z, w: this.w }))
    return Vector3.of(q.x, q.y, q.z)
  }
}
register(Quaternion)

/** Position, m, and orientation of something in a frame: foxglove.Pose. */
export class Pose extends Payload {
  static readonly type: string = 'foxglove.Pose'
  static readonly members: MemberTable = [
    [1, 'position', 'optional<.foxglove.Vector3>'],
    [2, 'orientation', 'optional<.foxglove.Quaternion>'],
  ]
  position: Vector3 | undefined = undefined
  orientation: Quaternion | undefined = undefined

  constructor(init: Init<Pose> = {}) {
    super()
    Object.assign(this, init)
  }

  static identity(): Pose {
    return new Pose({ position: new Vector3(), orientation: Quaternion.identity() })
  }

  /** The pose other, given in the frame this, in the frame that this is given in. */
  times(other: Pose): Pose {
    const orientation = this.orientation ?? Quaternion.identity()
    const p = this.position ?? new Vector3()
    const moved = orientation.rotate(other.position ?? new Vector3())
    return new Pose({
      position: Vector3.of(p.x + moved.x, p.y + moved.y, p.z + moved.z),
      orientation: orientation.times(other.orientation ?? Quaternion.identity()),
    })
  }
}
register(Pose)

/** An image: foxglove.RawImage. */
export class Image extends Payload {
  static readonly type: string = 'foxglove.RawImage'
  static readonly members: MemberTable = [
    [1, 'timestamp', 'optional<time>'],
    [7, 'frame_id', 'string'],
    [2, 'width', 'fixed32'],
    [3, 'height', 'fixed32'],
    [4, 'encoding', 'string'],
    [5, 'step', 'fixed32'],
    [6, 'data', 'bytes'],
  ]
  timestamp: Time | undefined = undefined
  frame_id = ''
  /** px */
  width = 0
  /** px */
  height = 0
  /** Such as "rgb8", "mono16" or "32FC1". */
  encoding = ''
  /** Bytes from one row to the next. */
  step = 0
  data: Uint8Array = new Uint8Array(0)

  constructor(init: Init<Image> = {}) {
    super()
    Object.assign(this, init)
  }

  /** A row of pixels, as a view. */
  row(y: number): Uint8Array {
    return this.data.subarray(y * this.step, (y + 1) * this.step)
  }
}
register(Image)

/** The element type of a field of a point cloud. */
export const NumericType = {
  UNKNOWN: 0,
  UINT8: 1,
  INT8: 2,
  UINT16: 3,
  INT16: 4,
  UINT32: 5,
  INT32: 6,
  FLOAT32: 7,
  FLOAT64: 8,
} as const
export type NumericType = (typeof NumericType)[keyof typeof NumericType]
registerEnum('foxglove.PackedElementField.NumericType', NumericType)

/** A field of the points of a cloud. */
export class PackedElementField extends Payload {
  static readonly type: string = 'foxglove.PackedElementField'
  static readonly members: MemberTable = [
    [1, 'name', 'string'],
    [2, 'offset', 'fixed32'],
    [3, 'type', '.foxglove.PackedElementField.NumericType'],
  ]
  name = ''
  /** Bytes from the beginning of a point. */
  offset = 0
  type: NumericType = NumericType.UNKNOWN

  constructor(init: Init<PackedElementField> = {}) {
    super()
    Object.assign(this, init)
  }
}
register(PackedElementField)

/** Points with their fields: foxglove.PointCloud. */
export class PointCloud extends Payload {
  static readonly type: string = 'foxglove.PointCloud'
  static readonly members: MemberTable = [
    [1, 'timestamp', 'optional<time>'],
    [2, 'frame_id', 'string'],
    [3, 'pose', 'optional<.foxglove.Pose>'],
    [4, 'point_stride', 'fixed32'],
    [5, 'fields', 'list<.foxglove.PackedElementField>'],
    [6, 'data', 'bytes'],
  ]
  timestamp: Time | undefined = undefined
  frame_id = ''
  /** Of the cloud's origin in the frame. */
  pose: Pose | undefined = undefined
  /** Bytes from one point to the next. */
  point_stride = 0
  fields: PackedElementField[] = []
  data: Uint8Array = new Uint8Array(0)

  constructor(init: Init<PointCloud> = {}) {
    super()
    Object.assign(this, init)
  }
}
register(PointCloud)
