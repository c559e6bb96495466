// What is shown, as a command for a terminal.
import { exactly } from 'engram-client'
import { own } from './own.svelte'
import { rfc3339 } from './time'

/** The command that prints what has an ID, in force at a time and as it was known at one. */
export function commandOf(id: string, at?: bigint, asOf?: bigint): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const time = (flag: string, t: bigint | undefined) => (t === undefined ? '' : ` --${flag} ${rfc3339(t)}`)
  return `engram get ${quoted(exactly(id, own.robot))}${time('at', at)}${time('as-of', asOf)}`
}
