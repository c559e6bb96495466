// The cases of memorytest/cases, which every client passes; memorytest/cases.go says what they mean.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { all, at, atOrBefore, EngramError, indices, latest, Memory, nearest, range } from 'engram-client'

const m = new Memory(process.env.ENGRAM_HTTP)
const dir = new URL('../../../memorytest/cases/', import.meta.url)
const read = (name) => JSON.parse(readFileSync(new URL(name, dir), 'utf8'))
let made = 0

const files = readdirSync(dir).filter((f) => f.endsWith('.json') && f !== 'types.json')
assert.ok(files.length >= 3)

test('types are made known', async () => {
  for (const [name, descriptors] of Object.entries(read('types.json'))) await m.addType(name, new Uint8Array(Buffer.from(descriptors, 'base64')))
})

for (const file of files) for (const [name, c] of Object.entries(read(file))) test(`${file}: ${name}`, () => run(c))

async function run({ segments, steps }) {
  const ids = {}
  for (const [key, type] of Object.entries(segments)) await m.addSegment((ids[key] = `GeneralPurpose/ts${++made}`), { type })
  const place = (text) => text.replace(/^[^/]+/, (key) => ids[key])
  const back = (entity) => Object.entries(ids).reduce((e, [key, id]) => (e.startsWith(id + '/') ? key + e.slice(id.length) : e), entity)
  const told = (s) => ({ entity: back(s.entity), time: Number(s.time), error: '', instances: s.instances.length, confidence: s.instances[0]?.confidence ?? 1, value: s.value })
  const t = (v) => (v == null ? undefined : BigInt(v))
  let watch, next

  const select = (s) =>
    s.all ? all() : s.latest ? latest(s.latest) : s.exactly !== undefined ? at(t(s.exactly)) : s.at !== undefined ? atOrBefore(t(s.at)) : s.nearest !== undefined ? nearest(t(s.nearest), t(s.within)) : s.range ? range(...s.range.map(t)) : indices(...s.index)

  const does = {
    async commit(updates) {
      const list = updates.map((u) => [place(u.entity), { values: u.instances.map((i) => i.value), confidences: u.instances.map((i) => i.confidence), type: u.type, time: t(u.time) }])
      const results = await m.commitAll(list)
      return results.map((r, i) => ({ entity: updates[i].entity, time: updates[i].time, error: r instanceof EngramError ? r.code : '' }))
    },
    async query(q) {
      const found = []
      const ask = { where: q.where, type: q.type, fields: q.fields, filterLast: !q.filter_first, payload: q.without_payload ? 'none' : 'value', from: { wm: 'ram', ltm: 'disk' }[q.target] }
      for await (const s of m.query(place(q.pattern), { ...ask, ...(q.select && { snapshots: q.select.map(select) }) })) found.push(told(s))
      return found
    },
    async latest(entity, step) {
      const s = await m.latest(place(entity), t(step.at))
      if (!s) throw new EngramError('not found', entity, '')
      return [told(s)]
    },
    async subscribe(w) {
      await watch?.return()
      // It begins when it is read.
      const started = new Promise((done) => (watch = m.watch(place(w.pattern), { where: w.where, backfill: w.last, since: t(w.since), started: done })))
      next = watch.next()
      await Promise.race([started, next])
    },
    async updates(n) {
      const got = []
      for (; got.length < n; next = undefined) got.push(told((await (next ?? watch.next())).value))
      return got
    },
  }

  for (const [i, step] of steps.entries()) {
    const what = Object.keys(does).find((k) => k in step)
    let got
    let error = ''
    try {
      got = await does[what](step[what], step)
    } catch (e) {
      if (!(e instanceof EngramError)) throw e
      error = e.code
    }
    assert.equal(error, step.error ?? '', `step ${i}`)
    if (!got) continue
    let want = step.want ?? (what === 'commit' ? got.map((g) => ({ entity: g.entity, error: '' })) : undefined)
    if (what === 'query') for (const list of [got, (want = [...want])]) list.sort((a, b) => a.entity.localeCompare(b.entity) || a.time - b.time)
    assert.equal(got.length, want.length, `step ${i}: ${JSON.stringify(got)}`)
    got.forEach((g, k) => {
      for (const [key, v] of Object.entries(want[k])) {
        if (key === 'time' && want[k].error) continue
        if (key !== 'value') assert.equal(g[key], v, `step ${i}, ${key}`)
        else for (const [member, x] of Object.entries(v)) assert.deepEqual(g.value[member], x, `step ${i}, ${member}`)
      }
    })
  }
  await watch?.return()
}
