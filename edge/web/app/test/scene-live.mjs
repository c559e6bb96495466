// 3D of what changes faster than it can be fetched, of what is flat, and of a mesh of a file with z above.
import assert from 'node:assert/strict'
import { ask, place, shot, step, test } from './browser.mjs'
import { data, more, stage } from './stage-tools.mjs'

await test(async (open) => {
  const page = await open('about:blank')
  const done = { points: 0, grid: 0 }
  const givenUp = []
  const sort = (r) => /view\/(points|grid)/.exec(r.url())?.[1]
  page.on('requestfinished', (r) => sort(r) && done[sort(r)]++)
  page.on('requestfailed', (r) => sort(r) && givenUp.push(r.url()))
  await page.route(/view\/(points|grid)/, async (route) => {
    await new Promise((go) => setTimeout(go, 300))
    await route.continue().catch(() => undefined)
  })

  step('a cloud and a grid that change all the time are shown')
  await ask('change')
  await page.goto(`${process.argv[2]}/?view=scene&fixed=map&hide=frames`)
  await more(page, 'things', 1)
  const fetched = async (n) => {
    const until = performance.now() + 30_000
    while (Math.min(done.points, done.grid) < n) {
      assert.ok(performance.now() < until, `fetched in 30 s: ${JSON.stringify(done)}; given up: ${givenUp.length}`)
      await page.waitForTimeout(50)
    }
  }
  await fetched(3)
  await page.waitForTimeout(1000)
  assert.deepEqual(givenUp, [])

  step('and stay until others are there')
  const calls = await data(page, 'calls')
  await page.evaluate((s) => {
    globalThis.seen = new Set()
    new MutationObserver(() => globalThis.seen.add(document.querySelector(s).dataset.calls)).observe(document.querySelector(s), { attributeFilter: ['data-calls'] })
  }, stage)
  await fetched(Math.max(done.points, done.grid) + 5)
  assert.deepEqual(await page.evaluate(() => [...globalThis.seen]), [String(calls)])
  await shot(page, 'scene-live')

  step('a box without a height is seen and clicked')
  await ask('plate')
  await more(page, 'things', 2)
  await page.getByRole('button', { name: 'Above' }).click()
  const at = await place(page.locator(stage))
  await page.waitForFunction(([s, n]) => Number(document.querySelector(s).dataset.calls) > n, [stage, calls])
  await page.mouse.click(at.x + at.width / 2, at.y + at.height / 2)
  await page.waitForURL(/sel=Painter/)
  await shot(page, 'scene-plate')

  step('a mesh stands as in its file')
  // Two triangles on one line of x, from z = 0 to z = 6.
  const tower = `<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><up_axis>Z_UP</up_axis></asset>
    <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">-0.5 0 0 0.5 0 0 0.5 0 6 -0.5 0 6</float_array>
    <technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 0 2 3</p></triangles></mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
    <scene><instance_visual_scene url="#s"/></scene></COLLADA>`
  await page.route(/view\/asset/, (route) => route.fulfill({ body: tower, contentType: 'model/vnd.collada+xml' }))
  await ask('tower')
  await page.goto(`${process.argv[2]}/?view=scene&fixed=map&hide=frames&eye=2.5,-20,4,2.5,2.5,4`)
  await page.waitForResponse(/view\/asset/)
  await page.waitForTimeout(1500)
  const middle = await place(page.locator(stage))
  await page.mouse.click(middle.x + middle.width / 2, middle.y + middle.height / 2)
  await shot(page, 'scene-tower')
  await page.waitForURL(/sel=Painter.*tower/)
})
