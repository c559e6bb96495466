// Against a real server, whose address is in ENGRAM_HTTP (see ../client_test.go).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOrBefore, all, EngramError, idTime, latest, Memory, namesOf, range, run, SECOND, timeOf } from 'engram-client'

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

test('types, segments, poses, traces', async () => {
  assert.ok((await m.types()).includes('engram.object.Instance'))
  const registry = await m.type('engram.object.Instance')
  assert.ok(registry.getMessage('engram.object.Instance').fields.some((f) => f.name === 'source_image'))
  await assert.rejects(m.type('no.such.Type'), (e) => e.code === 'not found')
  const [s] = await m.segments(segment)
  assert.equal(s.history.maxCount, 1000n)
  const p = await m.pose('Simulation/map', 'Simulation/base_link')
  assert.ok(Math.abs(Math.hypot(p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w) - 1) < 1e-9)
  await assert.rejects(m.pose('Simulation/map', 'Simulation/nowhere'), (e) => e.code === 'not found' && /nowhere/.test(e.message))
  const cup = await m.latest('Object/Instance/Simulation/cup')
  const trace = await m.trace(cup.entity)
  assert.ok(trace.nodes.some((n) => namesOf(n.id)[0] === 'Vision'), trace.nodes.map((n) => n.id).join())
})

test('what is not there yet, and what is not believed any more', async () => {
  const one = async (entity, ask) => {
    for await (const s of m.query(entity, ask)) return s
  }
  const joints = 'RobotState/Proprioception/ts/predicted'
  for (let i = 0; i < 60; i++) await m.commit(joints, { position: [0.1 * i] }, { time: BigInt(i) * 100_000_000n })
  const then = await one(joints, { snapshots: [atOrBefore(6_400_000_000n)], predict: true })
  assert.ok(then.predicted && Math.abs(then.value.position[0] - 6.4) < 0.001, JSON.stringify(then.value))
  assert.equal((await one(joints, { snapshots: [atOrBefore(6_400_000_000n)] })).predicted, false)

  // At the fork a robot went to the left in 6 of 10 cases.
  const walker = 'RobotState/Localization/ts/walker'
  const walk = Array.from({ length: 2530 }, (_, i) => {
    const way = 0.1 * (i % 50)
    const translation = { x: Math.min(way, 3) + 0.01 * Math.sin(7 * i), y: Math.max(way - 3, 0) * (Math.floor(i / 50) % 5 < 3 ? 1 : -1) + 0.01 * Math.cos(5 * i) }
    return [walker, { value: { parent_frame_id: 'odom', child_frame_id: 'walker', translation, rotation: { w: 1 } }, time: BigInt(i) * 100_000_000n }]
  })
  for (let i = 0; i < walk.length; i += 500) await m.commitAll(walk.slice(i, i + 500))
  await m.commit('Speech/Text/ts/said', { text: 'hello' }, { time: 10n })
  const [p, none] = await m.predict([`${walker}/${idTime(253_900_000_000n)}`, `Speech/Text/ts/said/${idTime(20n)}`])
  assert.deepEqual(
    p.hypotheses.map((h) => [h.probability.toFixed(1), h.value.translation.y.toFixed(1), h.members['translation.y'].mean.toFixed(1), h.sources.length, h.predicted]),
    [['0.6', '0.9', '0.9', 4, true], ['0.4', '-0.9', '-0.9', 4, true]],
  )
  assert.deepEqual([p.horizon, p.sources[0], p.covariances[''].length, p.value.translation.y], [1_000_000_000n, `${walker}/1970-01-01 00:04:12.900000`, 36, p.hypotheses[0].value.translation.y])
  assert.ok(p.covariances[''][7] > 10 * p.hypotheses[0].covariances[''][7] && p.members['translation.y'].low < -0.7, JSON.stringify(p.members['translation.y']))
  assert.ok(none instanceof EngramError && none.code === 'unsupported' && /pattern/.test(none.message), `${none}`)

  const image = await m.commit('Vision/ImageRGB/ts/doubt', {}, { time: 10n })
  await m.commit('Object/Instance/ts/doubt', { frame_id: 'before' }, { time: 11n })
  await m.commit('Object/Instance/ts/doubt', { source_image: image }, { time: 12n })
  await m.commit('SystemState/Withdrawal/ts/doubt', { entities: 'Vision/ImageRGB/ts/doubt', reason: 'it was mis-calibrated' })
  assert.equal((await one('Object/Instance/ts/doubt')).time, 12n)
  assert.equal((await one('Object/Instance/ts/doubt', { withoutDoubtful: true })).time, 11n)
  const doubted = (await m.trace('Object/Instance/ts/doubt')).nodes.map((n) => [n.id.split('/')[0], n.doubtful.split(':')[0]])
  assert.deepEqual(doubted, [['Object', 'doubtful'], ['Vision', 'withdrawn']])
})

test('a skill is run to its end', async () => {
  const steps = await collect(run(m, 'Arm/Wave', { times: 3 }))
  assert.equal(steps.at(-1).status, 'Succeeded', JSON.stringify(steps))
  for await (const step of run(m, 'Arm/Stare')) if (step.status === 'Running') break
  for await (const u of m.watch('Skill/Execution/typescript', { backfill: 1 })) if (u.value.skill.endsWith('Arm/Stare') && u.value.status === 'Aborted') break
})
