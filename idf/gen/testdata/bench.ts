// @ts-expect-error: without Node's types
import { readFileSync } from 'node:fs'
import { Complex } from './golden/engram_bench.js'
import { fromPayload } from './golden/payload.js'

const data: Uint8Array = readFileSync('payload')
const object = fromPayload(Complex, data)
for (const call of [() => fromPayload(Complex, data), () => object.toPayload()]) {
  let least = Infinity
  for (let round = 0; round < 40; round++) {
    const start = performance.now()
    for (let i = 0; i < 500; i++) call()
    least = Math.min(least, (performance.now() - start) / 500)
  }
  console.log(least / 1000)
}
