// Values, their members and differences, names and commands (src/lib), without a browser.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
globalThis.location = new URL('http://robot/')

const all = ['members', 'type', 'value', 'command', 'texts']
const built = await build({
  root: here('..'),
  logLevel: 'error',
  build: { write: false, emptyOutDir: false, minify: false, lib: { entry: 'all', formats: ['es'] } },
  plugins: [
    {
      name: 'all',
      enforce: 'pre',
      resolveId: (id) => (id.endsWith('all') ? '\0all' : undefined),
      load: (id) => (id === '\0all' ? all.map((f) => `export * from ${JSON.stringify(here(`../src/lib/${f}.ts`))}`).join('\n') : undefined),
    },
  ],
})
// Of a file an error says the line.
const dir = mkdtempSync(join(tmpdir(), 'engram-values-'))
process.on('exit', () => rmSync(dir, { recursive: true }))
writeFileSync(join(dir, 'all.mjs'), built[0].output[0].code)
const { brief, cells, commandOf, differences, exact, figure, filled, isCondition, labelsOf, lastName, named, withZeros } = await import(join(dir, 'all.mjs'))

const plain = (kind, more) => ({ kind, name: kind, members: [], items: [], keys: [], nullable: false, ...more })
const struct = (members) => plain('struct', { members: Object.entries(members).map(([name, shape]) => ({ name, shape, optional: false, comment: '', unit: '' })) })
const [float, text, bool] = [plain('float'), plain('text'), plain('bool')]
const long = plain('int', { limits: [-(1n << 63n), (1n << 63n) - 1n] })
const point = struct({ x: float, y: float, z: float })
const list = (item) => plain('list', { item })

// What JSON leaves out is there, in the order of the type; below what is not asked for nothing is gone through.
const thing = struct({ name: text, at: point, on: bool, corners: list(point), count: long, pair: plain('tuple', { items: [point, float] }), by: plain('dict', { item: point }) })
const said = { corners: [{ y: 1 }, {}], at: {}, pair: [{ z: 1 }, 0], by: { a: {} }, extra: 1 }
assert.deepEqual(Object.entries(filled(thing, said)), [
  ['name', ''],
  ['at', { x: 0, y: 0, z: 0 }],
  ['on', false],
  ['corners', [{ x: 0, y: 1, z: 0 }, { x: 0, y: 0, z: 0 }]],
  ['count', '0'],
  ['pair', [{ x: 0, y: 0, z: 1 }, 0]],
  ['by', { a: { x: 0, y: 0, z: 0 } }],
  ['extra', 1],
])
assert.equal(withZeros(thing, said).corners, said.corners)
const numbers = Array.from({ length: 300_000 }, (_, i) => i)
assert.equal(filled(list(float), numbers), numbers)
assert.equal(filled(undefined, said), said)

// Elements of lists beside as many names are about these.
const joints = { name: ['a', 'b'], position: [1, 2], velocity: [1], torque: { name: [1], x: [1] } }
assert.deepEqual(['name', 'position', 'velocity', 'torque', 'none'].map((m) => labelsOf(joints, m)), [undefined, ['a', 'b'], undefined, undefined, undefined])
assert.equal(labelsOf(joints.torque, 'x'), undefined)

// As cells: of a value that is no object, or a vector itself, nothing is lost.
assert.deepEqual(cells({ x: 1, y: 2, z: 3 }), { x: 1, y: 2, z: 3 })
assert.deepEqual(cells([1, 2]), { value: [1, 2] })
assert.deepEqual(cells(7), { value: 7 })
assert.deepEqual(cells({ at: { x: 1, y: 2 }, a: { b: { c: 'd' } }, l: [1] }), { at: { x: 1, y: 2 }, 'a.b.c': 'd', l: [1] })
assert.deepEqual(cells({ 'a.b': 1, a: { b: 'x' } }), { '["a.b"]': 1, 'a.b': 'x' })

// Differences, in the order of the type; names with dots stay apart.
const differ = (a, b, shape, most = 1000) => differences(a, b, shape, most).map((d) => [d.path, d.a, d.b, d.change])
assert.deepEqual(differ(filled(thing, {}), filled(thing, { count: '9007199254740993', on: true }), thing), [
  ['on', false, true, undefined],
  ['count', '0', '9007199254740993', 9007199254740993n],
])
assert.deepEqual(differ({ n: 0 }, { n: 1 }), [['n', 0, 1, 1]])
assert.deepEqual(differ({ 'a.b': 1, a: { b: 1 } }, { 'a.b': 2, a: { b: 1 } }), [['["a.b"]', 1, 2, 1]])
assert.deepEqual(differ({ item10: 1, item2: 1, l: [1, 2] }, { l: [1, 3, 4], item2: 2, item10: 2 }), [
  ['item2', 1, 2, 1],
  ['item10', 1, 2, 1],
  ['l[1]', 2, 3, 1],
  ['l[2]', undefined, 4, undefined],
])
assert.deepEqual(differ(undefined, { a: { b: 1 }, c: [] }), [
  ['a.b', undefined, 1, undefined],
  ['c', undefined, [], undefined],
])
assert.deepEqual(differ({ a: [1] }, { a: { x: 1 } }), [['a', [1], { x: 1 }, undefined]])
assert.deepEqual(differ(said, structuredClone(said)), [])
// Of very many one more is found than are wanted, and no path of the others is made.
assert.equal(differences(numbers, numbers.map((n) => n + 1), list(float), 1000).length, 1001)

// A number says what it says; an exponent has what is very large or small only.
assert.deepEqual(
  [0, -5, 1764430000.123, 1764430000.123456, 999999.123, 0.1 + 0.2, 0.48170001, 0.0000123, 1.5e-7, 1e15 + 0.5, 1e14 + 0.5].map((n) => figure(n)),
  ['0', '-5', '1764430000.123', '1764430000.123456', '999999.123', '0.3', '0.4817', '0.0000123', '1.5e-7', '1e+15', '100000000000000.5'],
)
assert.equal(brief({ z: 3, x: 5412345.678, y: 0.123456789 }), '5412345.678, 0.12346, 3')
assert.equal(exact(0.1 + 0.2), '0.30000000000000004')
assert.equal(exact('a'.repeat(5000)).length, 1001)

// A command names the one entity that is shown, whatever its name is; of a time it says so.
const at = 1_764_430_000_000_000_000n
assert.equal(commandOf('Object/Instance'), `engram get 'Object/Instance'`)
assert.equal(commandOf('A/B/c/~c.*'), String.raw`engram get 'A/B/c/\~c.*'`)
assert.equal(commandOf('A/B/c/*'), String.raw`engram get 'A/B/c/\*'`)
assert.equal(commandOf("A/B/c/it's"), String.raw`engram get 'A/B/c/it'\''s'`)
assert.equal(commandOf(String.raw`A/B/c/a\/b`), String.raw`engram get 'A/B/c/a\/b'`)
assert.equal(commandOf('A/B', at, at), `engram get 'A/B' --at 2025-11-29T15:26:40Z --as-of 2025-11-29T15:26:40Z`)

// Names are found as they are, and as IDs have them.
const slash = String.raw`A/B/c/left\/right`
for (const [t, is] of [['left/right', true], [String.raw`LEFT\/r`, true], ['c/left', true], ['b/right', false]]) assert.equal(named(slash, t), is, t)
assert.match('right of left/right', new RegExp(`^${lastName('left/right').slice(4)}$`))
assert.match('left/right', new RegExp(`^${lastName(String.raw`left\/right`).slice(4)}$`))

// What is a condition.
for (const t of ['confidence < 0.5', 'a == 1', "text.matches('x')", "status in ['Failed']", '!has(a.b)']) assert.ok(isCondition(t), t)
for (const t of ['cup (1)', 'bring me the cup', 'a/b', '< left']) assert.ok(!isCondition(t), t)
