// What needs no browser: times as people write them, the ruler, the next snapshot, tasks that are given up.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

process.env.TZ = 'America/New_York'
globalThis.location = new URL('http://robot/')
globalThis.requestAnimationFrame = (f) => setTimeout(f)

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
async function lib(name) {
  const [{ output }] = await build({
    root: here('..'),
    logLevel: 'error',
    build: { write: false, emptyOutDir: false, minify: false, lib: { entry: here(`../src/lib/${name}.ts`), formats: ['es'] } },
  })
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
}
const [{ parse, timeIn, within, rfc3339 }, { ticks }, { nextAfter }, { Latest }, { levelsOf, mayMatch }, { Changes }, { beginOf }] = await Promise.all(['time', 'ruler', 'next', 'latest', 'patterns', 'news', 'recording'].map(lib))
const time = (text) => parse(text, 0n)

// All times that servers have can be written, and are read as they are written.
for (const t of [0n, -1n, -1_500_000_000n, -(1n << 63n), (1n << 63n) - 1n]) {
  assert.equal(parse(rfc3339(t), 0n), t)
  if (String(t).length > 12) assert.equal(parse(String(t), 0n), t)
}
for (const text of ['1600-01-01', '2300-01-01T00:00:00Z', '9223372036854775808', 'soon', '25:00']) assert.equal(parse(text, 0n), undefined, text)
assert.equal(within(1n << 70n), (1n << 63n) - 1n)
// Without a zone they are of the browser's, on both sides of a change of clocks.
assert.equal(time('2026-03-08 01:30'), time('2026-03-08T06:30:00Z'))
assert.equal(time('2026-03-08 03:30'), time('2026-03-08T07:30:00Z'))
assert.equal(parse('14:00', time('2026-07-01T12:00:00Z')), time('2026-07-01T18:00:00Z'))

// The time of a snapshot's ID is read as "engram get" reads it.
for (const text of ['2026-03-08 06:30:00.000000', '2026-03-08 06:30:00', '2026-03-08T06:30:00Z', '2026-03-08 07:30:00+01:00', String(time('2026-03-08T06:30:00Z'))]) {
  assert.equal(timeIn(['a', 'b', 'c', 'd', text]), time('2026-03-08T06:30:00Z'), text)
}
assert.deepEqual([['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']].map(timeIn), [undefined, undefined])

// Lines are at round times of the day that is told there.
const lines = (from, to) => ticks(time(from), time(to), 90 / 900)
const told = (from, to) => lines(from, to).map((l) => `${rfc3339(l.t)} ${l.label}`)
assert.deepEqual(told('2026-03-06 12:00', '2026-03-10 12:00').filter((l) => l.endsWith(' 00:00:00')), [
  '2026-03-07T05:00:00Z 00:00:00',
  '2026-03-08T05:00:00Z 00:00:00',
  '2026-03-09T04:00:00Z 00:00:00',
  '2026-03-10T04:00:00Z 00:00:00',
])
assert.deepEqual(lines('2026-11-01 00:30', '2026-11-01 05:30').map((l) => l.label), ['01:00:00', '02:00:00', '03:00:00', '04:00:00', '05:00:00'])
assert.deepEqual(lines('2026-03-08 00:00', '2026-03-08 06:30').map((l) => l.label), ['01:00:00', '03:00:00', '04:00:00', '05:00:00', '06:00:00'])
assert.deepEqual(told('2026-03-01 12:00', '2026-03-11 12:00').slice(5, 9), [
  '2026-03-07T05:00:00Z 2026-03-07',
  '2026-03-08T05:00:00Z 2026-03-08',
  '2026-03-09T04:00:00Z 2026-03-09',
  '2026-03-10T04:00:00Z 2026-03-10',
])
assert.deepEqual(lines('2026-01-15', '2026-08-15').map((l) => l.label), ['2026-02', '2026-03', '2026-04', '2026-05', '2026-06', '2026-07', '2026-08'])
assert.deepEqual(lines('1965-06-01', '1973-06-01').map((l) => l.label), ['1966', '1967', '1968', '1969', '1970', '1971', '1972', '1973'])
// Never are there many, however much is shown; and they stay where they are when it moves on.
for (const width of Array.from({ length: 110 }, (_, i) => BigInt(Math.round(1e7 * 1.26 ** i))).filter((w) => w < 1n << 63n)) {
  for (const middle of [time('2026-03-08T07:00:00Z'), 0n]) {
    const some = ticks(within(middle - width / 2n), within(middle + width / 2n), 90 / 3840)
    assert.ok(some.length >= 3 && some.length <= 22, `${some.length} lines in ${width} ns`)
    assert.ok(some.every((l, i) => !i || l.t > some[i - 1].t), `${width} ns: they ascend`)
    const on = ticks(within(middle - width / 2n + width / 5n), within(middle + width / 2n + width / 5n), 90 / 3840).map((l) => l.t)
    assert.ok(some.every((l) => l.t <= middle - width / 2n + width / 5n || on.includes(l.t)), `${width} ns: they stay`)
  }
}

// The next snapshot is found however far it is, and little is read on the way: of a burst after a year no more than a part.
const s = 1_000_000_000n
const year = 365n * 86400n * s
const burst = Array.from({ length: 200_000 }, (_, i) => year + BigInt(i) * 10_000_000n)
let calls = 0
let read = 0
const one = (all) => async ({ kind }) => {
  calls++
  if (kind.case === 'latest') return all.at(-1)
  if (kind.case === 'atOrBefore') return all.findLast((t) => t <= kind.value)
  const found = all.filter((t) => t >= kind.value.start && t < kind.value.end)
  read += found.length
  return found[0]
}
assert.equal(await nextAfter(0n, one([0n, ...burst])), year)
assert.ok(calls < 45 && read < 200, `${calls} calls, ${read} snapshots`)
assert.equal(await nextAfter(burst[5], one([0n, ...burst])), burst[6])
assert.equal(await nextAfter(0n, one([0n, 3n * s])), 3n * s)
assert.equal(await nextAfter(3n * s, one([0n, 3n * s])), undefined)
assert.equal(await nextAfter(-year, one([-5n, 7n])), -5n)
assert.equal(await nextAfter(0n, one([])), undefined)

// A slow answer for what is not looked at any more is given up; one for the same is waited for.
const did = []
const slow = (name, answered) => (signal) =>
  new Promise((done, fail) => {
    did.push(`${name} asked`)
    const abort = () => (did.push(`${name} given up`), fail(signal.reason))
    signal.addEventListener('abort', abort)
    answered?.then(() => (signal.removeEventListener('abort', abort), did.push(`${name} answered`), done()))
  })
const latest = new Latest()
let answer
const first = new Promise((done) => (answer = done))
latest.run(slow('a', first), 'a')
latest.run(slow('a again', Promise.resolve()), 'a')
assert.deepEqual(did, ['a asked'])
await new Promise((done) => {
  answer()
  latest.run(async (signal) => (await slow('a newest', Promise.resolve())(signal), done()), 'a')
})
assert.deepEqual(did.splice(0), ['a asked', 'a answered', 'a newest asked', 'a newest answered'])
latest.run(slow('b'), 'b')
await new Promise((done) => setTimeout(function look() {
  if (did.length) done()
  else setTimeout(look)
}))
await new Promise((done) => latest.run(async (signal) => (await slow('c', Promise.resolve())(signal), done()), 'c'))
assert.deepEqual(did.splice(0), ['b asked', 'b given up', 'c asked', 'c answered'])

// After a task that took long there is a pause; what has another key does not wait for it to end, nor what comes after a stop.
const [soon, clock] = [setTimeout, performance.now]
let time0 = 0
const pauses = []
performance.now = () => (time0 += 1000)
globalThis.setTimeout = (f, ms, ...more) => (ms === 250 ? pauses.push(f) : soon(f, ms, ...more))
const kept = new Latest()
const step = (name, key) => new Promise((done) => kept.run(async () => (did.push(name), done()), key))
const paused = async (n) => {
  while (pauses.length < n) await new Promise((done) => soon(done))
}
await step('a', 'a')
await paused(1)
await step('b', 'b')
await paused(2)
kept.stop()
await step('b again', 'b')
await paused(3)
const waits = step('b waits', 'b')
assert.deepEqual(did.splice(0), ['a', 'b', 'b again'])
pauses.at(-1)()
await waits
assert.deepEqual(did.splice(0), ['b waits'])
globalThis.setTimeout = soon
performance.now = clock

// Of a pattern as text is known which names it cannot match.
assert.deepEqual(levelsOf('Object/*/~a\\/b|c/\\*x\\/y'), ['Object', undefined, undefined, '*x/y'])
assert.deepEqual(levelsOf('*'), [undefined])
assert.deepEqual(levelsOf('robot2:Object'), [undefined])
assert.equal(mayMatch(levelsOf('Object/*/p'), ['Object', 'Instance', 'q', 'cup']), false)
assert.equal(mayMatch(levelsOf('Object/*/p'), ['Object', 'Instance', 'p', 'cup']), true)
assert.equal(mayMatch(levelsOf('~.*/Text'), ['Speech', 'Text']), true)

// Of what came late is told, though newer things came with it.
const changes = new Changes()
for (const [of, t] of [['a', 5n], ['a', -3n], ['b', 1n], ['a', 4n], ['a', 9n]]) changes.note(of, t)
assert.deepEqual([[...changes.newest], [...changes.oldest]], [[['a', 9n], ['b', 1n]], [['a', -3n], ['b', 1n]]])

// A recording begins with the first of what overlaps up to its end; what ended a minute before that is of another one.
assert.equal(beginOf([[5n, 90n], [0n, 2n], [80n, 100n], [-500n, -400n]].map(([a, b]) => [a * s, b * s]), 100n * s), 0n)
assert.equal(beginOf([[70n * s, 90n * s], [0n, 9n * s]], 90n * s), 70n * s)
assert.equal(beginOf([], 7n), 7n)
