import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorSchema, type Error as ErrorMessage } from '../../../gen/es/engram/v1/memory_pb.js'

/** What a server refuses, or that it is away: what kind of error, of which thing, and what to do. */
export class EngramError extends Error {
  override readonly name = 'EngramError'

  constructor(
    /** Such as "not found", "type mismatch", "forbidden", "too old", "unavailable"; docs/http.md has all. */
    readonly code: string,
    /** What it is about: an ID, a type, a member. */
    readonly thing: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(thing && !message.includes(thing) ? `${thing}: ${message}` : message, options)
  }

  static of(e: ErrorMessage): EngramError {
    return new EngramError(e.code, e.thing, e.message)
  }

  static from(e: unknown, address = ''): EngramError {
    if (e instanceof EngramError) return e
    const c = ConnectError.from(e)
    const [detail] = c.findDetails(ErrorSchema)
    if (detail) return new EngramError(detail.code, detail.thing, detail.message, { cause: e })
    // fetch has a TypeError for a server that is not there, or goes away.
    if (c.code === Code.Unavailable || c.cause instanceof TypeError) {
      return new EngramError('unavailable', address, `there is no answer: is "engram serve" running there? (${c.rawMessage})`, { cause: e })
    }
    return new EngramError((Code[c.code] ?? 'unknown').replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase(), '', c.rawMessage, { cause: e })
  }
}
