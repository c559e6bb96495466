// Answers the requests of golden_test.go.
import './golden/index.js'
import { classOf, fromPayload, PayloadError, Sender } from './golden/payload.js'

declare const process: { stdin: AsyncIterable<Uint8Array>; stdout: { write(s: string): void } }

const unhex = (s: string) => Uint8Array.from(s === '-' ? [] : s.match(/../g)!, (b) => parseInt(b, 16))
const hex = (b: Uint8Array) => Array.from(b, (n) => n.toString(16).padStart(2, '0')).join('')

let input = ''
const decoder = new TextDecoder()
for await (const chunk of process.stdin) input += decoder.decode(chunk, { stream: true })
for (const line of input.trim().split('\n')) {
  const [name, data, from, descriptors] = line.split(' ') as [string, string, string?, string?]
  try {
    const c = classOf(name)!
    const read = fromPayload(c, unhex(data), from ? new Sender(from, unhex(descriptors!)) : undefined)
    const written = read.toPayload()
    if (!fromPayload(c, written).equals(read)) throw new Error(`${name} is not equal to itself`)
    process.stdout.write(`-${hex(written)}\n`)
  } catch (e) {
    if (!(e instanceof PayloadError)) throw e
    process.stdout.write(`ERR ${e.message.replace(/\n/g, ' ')}\n`)
  }
}
