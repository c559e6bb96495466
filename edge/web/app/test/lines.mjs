// The lines of plots (src/lib/series.ts), without a browser.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
globalThis.location = new URL('http://robot/')

const built = await build({
  root: here('..'),
  logLevel: 'error',
  build: { write: false, emptyOutDir: false, minify: false, lib: { entry: here('../src/lib/series.ts'), formats: ['es'] } },
})
const { called, line, listOf, Numbers, valueAt } = await import(`data:text/javascript,${encodeURIComponent(built[0].output[0].code)}`)

/** A series of values by time, in bins of a second. */
const told = (values, more = {}) => ({
  path: '',
  bins: new Map(values.map(([t, v]) => [Math.floor(t), { first: v, last: v, low: v, high: v, from: t, to: t }])),
  ends: new Map(),
  ...more,
})
/** Its line as pairs, with times in tenths of a second. */
const points = (l) => l.x.map((x, i) => [Math.round(x * 10) / 10, l.y[i]])
const ticks = (n, first = 0) => Array.from({ length: n }, (_, i) => [first + i, i])

// Values that come regularly are joined, and not where they stop coming; nor are they drawn on after the last.
let l = line(told([...ticks(20), ...ticks(10, 60)]), 1, 0, 100, false, [])
assert.equal(l.holds, false)
assert.deepEqual(points(l).slice(18, 23), [[18, 18], [19, 19], [19, null], [60, 0], [61, 1]])
assert.deepEqual(points(l).at(-1), [69, 9])
assert.ok(l.x.every((x, i) => !i || x > l.x[i - 1]), 'times ascend')

// A sparse series beside it holds from value to value, from the one before to the end.
l = line(told([[100, 5], [400, 7]], { before: 3 }), 1, 0, 1000, false, [])
assert.equal(l.holds, true)
assert.deepEqual(points(l), [[0, 3], [100, 5], [400, 7], [1000, 7]])
assert.deepEqual([...l.dots], [100, 400])
assert.deepEqual([50, 100, 399, 999, -1].map((t) => valueAt(l, t)), [3, 5, 5, 7, undefined])

// It ends where no value is in force, and begins again with the next.
l = line(told([[100, 5], [400, 7]], { before: 3, ends: new Map([[50, 50], [200, 200.5]]) }), 1, 0, 1000, false, [])
assert.deepEqual(points(l), [[0, 3], [50, 3], [50, null], [100, 5], [200.5, 5], [200.5, null], [400, 7], [1000, 7]])
assert.equal(valueAt(l, 300), undefined)
l = line(told([[100, 5], [400, 7]], { ends: new Map([[600, 600]]) }), 1, 0, 1000, false, [])
assert.deepEqual(points(l), [[100, 5], [400, 7], [600, 7], [600, null]])

// Nor does it hold over what was lost.
l = line(told([[100, 5], [400, 7]]), 1, 0, 1000, false, [{ reason: 'damaged', count: 3, from: 150, to: 300 }])
assert.deepEqual(points(l), [[100, 5], [150, 5], [150, null], [400, 7], [1000, 7]])

// Where values are left, what is lost is not all; what a policy left out changes nothing.
l = line(told([[100, 5], [400, 7]]), 1, 0, 1000, false, [
  { reason: 'evicted', count: 0, from: 90, to: 900 },
  { reason: 'filtered', count: 9, from: 150, to: 300 },
])
assert.deepEqual(points(l), [[100, 5], [400, 7], [1000, 7]])

// What is told regularly, however seldom, does not hold when it is silent: it holds for as long as usual.
l = line(told([...Array.from({ length: 12 }, (_, i) => [50 * i, i]), [2000, 99]]), 1, 0, 3000, false, [])
assert.equal(l.holds, true)
assert.deepEqual(points(l).slice(11), [[550, 11], [600, 11], [600, null], [2000, 99], [2050, 99], [2050, null]])

// Of many values in a bin, the line goes through the lowest and the highest.
const dense = told([])
dense.bins.set(0, { first: 1, last: 2, low: -9, high: 9, from: 0.1, to: 0.7 })
dense.bins.set(1, { first: 2, last: 1, low: 0, high: 4, from: 1, to: 1.9 })
l = line(dense, 1, 0, 2, false, [])
assert.deepEqual(points(l), [[0.1, 1], [0.3, -9], [0.5, 9], [0.7, 2], [1, 2], [1.3, 4], [1.6, 0], [1.9, 1]])
assert.equal(l.dots.size, 0)

// Nothing is nothing.
assert.deepEqual(points(line(told([]), 1, 0, 10, true, [])), [])

// Of a range that moves on, what comes is fetched only; values and ends before it become the value in force.
const answers = []
globalThis.fetch = async (url) => {
  const q = new URL(url, 'http://robot/').searchParams
  return { ok: true, json: async () => answers.shift()(q) }
}
const column = (q, path, at, values, ends = []) => ({
  from: q.get('from'),
  gaps: [],
  series: [{ path, bin: at, firstTime: at.map((i) => i * 1e9), first: values, endBin: ends, endTime: ends.map((i) => i * 1e9 + 5e8) }],
})
const n = new Numbers('A/B/c/d', ['v'])
const s = 1_000_000_000n
answers.push((q) => {
  assert.deepEqual([q.get('from'), q.get('to'), q.get('n')], ['1000000000000', '1010000000000', '10'])
  return column(q, 'v', [0, 4], [1, 2], [6])
})
const { signal } = new AbortController()
await n.fetch(1000n * s, 1009n * s, 10, undefined, false, signal)
assert.deepEqual([...n.series[0].ends], [[1006, 1006.5]])
answers.push((q) => {
  assert.deepEqual([q.get('from'), q.get('to')], ['1005000000000', '1015000000000'])
  return column(q, 'v', [7], [3])
})
await n.fetch(1005n * s, 1014n * s, 10, undefined, false, signal)
assert.deepEqual([n.series[0].before, [...n.series[0].bins.keys()], [...n.series[0].ends]], [2, [1012], []])
// Settled, nothing is asked for again.
await n.fetch(1005n * s, 1014n * s, 10, undefined, true, signal)
assert.equal(answers.length, 0)
// What comes behind the last changes nothing; for what comes before it all is asked for again, and if that fails, once more.
assert.deepEqual([1004n, 1011n, 1012n, 2000n].map((t) => n.came(t * s)), [false, false, false, false])
assert.equal(n.came(1010n * s), true)
answers.push(() => {
  throw new Error('away')
})
await assert.rejects(n.fetch(1005n * s, 1014n * s, 10, undefined, true, signal))
answers.push((q) => {
  assert.deepEqual([q.get('from'), q.get('to')], ['1005000000000', '1015000000000'])
  return column(q, 'v', [5, 7], [9, 3])
})
await n.fetch(1005n * s, 1014n * s, 10, undefined, true, signal)
assert.deepEqual([...n.series[0].bins.keys()], [1010, 1012])
// Of what is settled all that comes is late.
assert.deepEqual([n.came(1014n * s), n.came(1015n * s)], [true, false])

// Elements that go by names are called so, and are of their lists.
assert.deepEqual(['position["left knee"]', 'position[3]', '["q"]["k\\"]"]', 'at.x', ''].map(called), ['position.left knee', 'position[3]', '["q"].k\\"]', 'at.x', ''])
assert.deepEqual(['position["left knee"]', 'position[3]', 'at.x'].map(listOf), ['position[]', 'position[]', 'at.x'])
