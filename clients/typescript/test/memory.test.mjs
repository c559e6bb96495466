// Against a real server, whose address is in ENGRAM_HTTP (see ../client_test.go).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOrBefore, all, EngramError, latest, Memory, range, SECOND, timeOf } from 'engram-client'

const m = new Memory(process.env.ENGRAM_HTTP)
const collect = async (all) => {
  const out = []
  for await (const one of all) out.push(one)
  return out
}
const segment = 'GeneralPurpose/TypeScript'
const entity = `${segment}/test/stove`

test('what is committed is read, now, before, and in parts', async () => {
  await m.addSegment(segment, { maxCount: 1000 })
  const t = timeOf('2026-01-31T14:00:00.000000001Z')
  assert.equal(await m.commit(entity, { celsius: 21, at: t, raw: new Uint8Array([1, 2]), none: undefined }, { time: t, confidence: 0.5 }), `${entity}/2026-01-31 14:00:00.000000001`)
  await m.commit(entity, { celsius: 22 }, { time: t + SECOND })
  const s = await m.latest(entity)
  assert.deepEqual([s.value, s.time, s.instances[0].type], [{ celsius: 22 }, t + SECOND, 'engram.idf.v1.Value'])
  const before = await m.latest(entity, t)
  assert.deepEqual([before.value, before.instances[0].confidence, before.id], [{ celsius: 21, at: String(t), raw: 'AQI=' }, 0.5, `${entity}/2026-01-31 14:00:00.000000001`])
  assert.equal(await m.latest(entity, t - 1n), undefined)
  assert.equal(await m.latest(`${segment}/test/nothing`), undefined)
  assert.equal(await m.latest(`${segment}/nobody/nothing`), undefined)
  for (const wrong of ['Nowhere/At/all/x', 'GeneralPurpose/Nothing/test/x']) {
    await assert.rejects(m.latest(wrong), (e) => e instanceof EngramError && e.code === 'not found' && e.thing === wrong)
  }
  const read = async (ask) => (await collect(m.query(segment, ask))).map((s) => s.value.celsius)
  assert.deepEqual(await read(), [22])
  assert.deepEqual(await read({ snapshots: [all()] }), [21, 22])
  assert.deepEqual(await read({ snapshots: [range(t, t + 1n)] }), [21])
  assert.deepEqual(await read({ snapshots: [atOrBefore(new Date(Date.UTC(2026, 0, 31, 14, 0, 0, 1)))] }), [21])
  assert.deepEqual(await read({ where: 'payload.celsius < 22' }), [21])
  assert.deepEqual(await read({ where: 'payload.celsius < 22', filterLast: true }), [])
  assert.deepEqual((await collect(m.query(segment, { payload: 'none' })))[0].value, null)
})

test('refusals name the thing, and are of one kind', async () => {
  const results = await m.commitAll({ 'Nowhere/At/all/x': { value: 1 }, [entity]: { value: { celsius: 23 } } })
  assert.ok(results[0] instanceof EngramError && results[0].code === 'not found' && results[0].thing === 'Nowhere/At', String(results[0]))
  assert.match(results[1], /stove/)
  await assert.rejects(m.commit('no entity', 1), (e) => e instanceof EngramError && e.code === 'invalid')
  await assert.rejects(collect(m.query('a//b')), (e) => e instanceof EngramError && e.code === 'invalid')
  await assert.rejects(new Memory('http://127.0.0.1:1').latest(entity), (e) => e instanceof EngramError && e.code === 'unavailable')
  assert.throws(() => new Memory('localhost:7411'), /write http:/)
  const invalid = (e) => e instanceof EngramError && e.code === 'invalid'
  assert.throws(() => timeOf('yesterday'), invalid)
  assert.throws(() => latest(1.5), invalid)
  assert.throws(() => range('b'), invalid)
  const circle = {}
  circle.next = circle
  for (const time of ['yesterday', 5, 1.5, new Date(NaN), 1n << 70n]) await assert.rejects(m.commit(entity, 1, { time }), invalid, String(time))
  for (const value of [circle, { f: () => 1 }, { x: [NaN] }]) await assert.rejects(m.commit(entity, value), invalid)
})

test('what changes is told, after what was', async () => {
  const stop = new AbortController()
  const seen = []
  for await (const u of m.watch(entity, { backfill: 1, signal: stop.signal })) {
    seen.push(u.value.celsius)
    if (seen.length === 1) await m.commit(entity, { celsius: 24 })
    if (seen.length === 2) stop.abort()
  }
  assert.deepEqual(seen, [23, 24])
  const last = await m.latest(entity)
  for await (const u of m.watch(entity, { backfill: 1, payload: 'none' })) {
    assert.deepEqual([u.id, u.entity, u.time, u.arrived, u.instances, u.value], [last.id, entity, last.time, last.arrived, [], null])
    break
  }
})

test('a watch outlives a server that is away, and one that begins anew', async () => {
  let away = 0
  const calls = []
  const flaky = (next) => async (req) => {
    if (req.method.name === 'Subscribe') {
      calls.push(req.stream)
      if (calls.length === 2 || calls.length === 3) {
        away++
        throw new TypeError('fetch failed')
      }
    }
    const r = await next(req)
    if (req.method.name !== 'Subscribe' || calls.length > 1) return r
    // The first connection breaks after two messages.
    const messages = r.message
    return { ...r, message: (async function* () { let n = 0; for await (const one of messages) { yield one; if (++n === 2) throw new TypeError('terminated') } })() }
  }
  const shaky = new Memory(process.env.ENGRAM_HTTP, { interceptors: [flaky] })
  const got = []
  for await (const u of shaky.watch(entity, { backfill: 1 })) {
    got.push(u.value.celsius)
    if (got.length === 1) await m.commitAll([[entity, { value: { celsius: 25 } }], [entity, { value: { celsius: 26 }, time: (await m.latest(entity)).time + SECOND }]])
    if (got.length === 3) break
  }
  assert.deepEqual([got, away], [[24, 25, 26], 2])
})

test('what another server at the address has is told from the beginning', async () => {
  const other = new Memory(process.env.ENGRAM_HTTP_RESTARTED)
  await other.addSegment(segment)
  let calls = 0
  // The first connection breaks when it has told something. From then on the other server answers.
  const restarted = (next) => async (req) => {
    const call = req.method.name === 'Subscribe' ? ++calls : 0
    const r = await next(calls > 1 ? { ...req, url: req.url.replace(process.env.ENGRAM_HTTP, process.env.ENGRAM_HTTP_RESTARTED) } : req)
    const messages = r.message
    if (call === 1)
      return { ...r, message: (async function* () { for await (const one of messages) { yield one; if (one.updates.length) throw new TypeError('terminated') } })() }
    if (call > 1)
      return { ...r, message: (async function* () { for await (const one of messages) { yield one; if (one.epoch) await other.commit(entity, { celsius: 33 }) } })() }
    return r
  }
  const shaky = new Memory(process.env.ENGRAM_HTTP, { interceptors: [restarted] })
  const got = []
  const started = () => m.commit(entity, { celsius: 31 })
  for await (const u of shaky.watch(entity, { started })) {
    got.push(u.value.celsius)
    if (got.length === 3 || u.value.celsius === 33) break
    await other.commit(entity, { celsius: 32 }) // before the watch comes there
  }
  assert.deepEqual(got, [31, 32, 33])
})

test('a backfill that breaks off is completed', async () => {
  const since = timeOf('2026-02-01T00:00:00Z')
  const times = [since, since - 1n, since + 1n, since + 2n]
  for (const [how, want] of [[{ backfill: 1 }, [0, 1, 2, 3]], [{ since }, [0, 2, 3]]]) {
    let calls = 0
    // The first connection breaks when it has told one of them.
    const breaking = (next) => async (req) => {
      const r = await next(req)
      if (req.method.name !== 'Subscribe' || ++calls > 1) return r
      const messages = r.message
      return { ...r, message: (async function* () { for await (const one of messages) { yield { ...one, updates: one.updates.slice(0, 1) }; if (one.updates.length) throw new TypeError('terminated') } })() }
    }
    await m.commitAll(times.map((time, i) => [`${segment}/backfill/${i}`, { value: { i }, time }]))
    const got = []
    for await (const u of new Memory(process.env.ENGRAM_HTTP, { interceptors: [breaking] }).watch(`${segment}/backfill`, how)) {
      got.push(u.value.i)
      if (u.value.i === 3) break
    }
    assert.deepEqual([got, calls], [want, 2])
  }
})

test('types, segments, poses', async () => {
  assert.ok((await m.types()).includes('engram.object.Instance'))
  const registry = await m.type('engram.object.Instance')
  assert.ok(registry.getMessage('engram.object.Instance').fields.some((f) => f.name === 'source_image'))
  await assert.rejects(m.type('no.such.Type'), (e) => e.code === 'not found')
  const [s] = await m.segments(segment)
  assert.equal(s.history.maxCount, 1000n)
  const p = await m.pose('Simulation/map', 'Simulation/base_link')
  assert.ok(Math.abs(Math.hypot(p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w) - 1) < 1e-9)
  await assert.rejects(m.pose('Simulation/map', 'Simulation/nowhere'), (e) => e.code === 'not found' && /nowhere/.test(e.message))
})
