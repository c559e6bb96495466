// Figures of the page: lines of "figure NAME VALUE", medians where nothing else is said.
import { ask, figure, test } from './browser.mjs'

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]
const at = (all, part) => [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * part)]

await test(async (open) => {
  // From the request to a filled tree, nothing cached.
  const paints = []
  let bytes = { first: 0, all: 0 }
  for (let i = 0; i < 7; i++) {
    const page = await open('about:blank')
    await page.addInitScript(() => {
      const done = () => {
        if (document.querySelectorAll('[role=treeitem]').length < 10) return
        watch.disconnect()
        requestAnimationFrame(() => setTimeout(() => (globalThis.filled ??= performance.now())))
      }
      const watch = new MutationObserver(done)
      watch.observe(document, { childList: true, subtree: true })
    })
    await page.goto(process.argv[2] + '/?view=table')
    await page.waitForFunction(() => globalThis.filled)
    paints.push(await page.evaluate(() => globalThis.filled))
    const scripts = () => page.evaluate(() => performance.getEntriesByType('resource').filter((r) => r.name.endsWith('.js')).reduce((n, r) => n + r.encodedBodySize, 0))
    bytes.first = await scripts()
    if (i === 6) {
      for (const tab of ['3D', 'Images', 'Plots', 'World', 'Trace', 'Diff', 'Skills', 'Episodes', 'Health']) {
        await page.getByRole('tab', { name: tab }).click()
        await page.waitForTimeout(300)
      }
      bytes.all = await scripts()
    }
    await page.context().close()
  }
  figure('first-paint-ms', median(paints))
  figure('js-first-kB', bytes.first / 1000)
  figure('js-all-kB', bytes.all / 1000)

  // From the call of commit to the number on the screen.
  const page = await open(process.argv[2] + '/?view=table&sel=Speech/Text/Bench/clock')
  await page.evaluate(() => {
    globalThis.seen = {}
    new MutationObserver(() => {
      for (const n of document.querySelector('aside')?.textContent.match(/tick-\d+/g) ?? []) globalThis.seen[n] ??= performance.timeOrigin + performance.now()
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  })
  const waits = []
  for (let i = 0; i < 100; i++) {
    const begun = Number(await ask('commit'))
    const name = `tick-${i}`
    await page.waitForFunction((n) => globalThis.seen[n], name)
    waits.push((await page.evaluate((n) => globalThis.seen[n], name)) - begun)
  }
  figure('commit-to-screen-p50-ms', median(waits))
  figure('commit-to-screen-p99-ms', at(waits, 0.99))

  // Frames while one scrolls and scrubs, and what blocks the page.
  const moving = async (move) => {
    await page.evaluate(() => {
      globalThis.frames = 0
      globalThis.long = 0
      globalThis.counting = true
      const count = () => globalThis.counting && (globalThis.frames++, requestAnimationFrame(count))
      requestAnimationFrame(count)
      new PerformanceObserver((l) => l.getEntries().forEach((e) => (globalThis.long = Math.max(globalThis.long, e.duration)))).observe({ type: 'longtask' })
    })
    const begun = performance.now()
    while (performance.now() - begun < 3000) await move(performance.now() - begun)
    const took = (performance.now() - begun) / 1000
    return page.evaluate((s) => ((globalThis.counting = false), [globalThis.frames / s, globalThis.long]), took)
  }
  await page.goto(process.argv[2] + '/?view=table&sel=GeneralPurpose/Many/Crowd/entity-00000')
  await page.getByRole('treeitem', { name: /entity-00001/ }).waitFor()
  const tree = await page.getByRole('tree').boundingBox()
  await page.mouse.move(tree.x + 50, tree.y + 100)
  let [fps, long] = await moving(() => page.mouse.wheel(0, 400))
  figure('scroll-100000-entities-fps', fps)
  figure('scroll-longest-task-ms', long)
  await page.goto(process.argv[2] + '/?view=table&sel=RobotState/Proprioception/Simulation/humanoid')
  const strip = await page.getByLabel('Timeline', { exact: true }).boundingBox()
  await page.mouse.move(strip.x + 200, strip.y + 5)
  await page.mouse.down()
  ;[fps, long] = await moving((ms) => page.mouse.move(strip.x + 200 + (ms / 3000) * (strip.width - 400), strip.y + 5))
  await page.mouse.up()
  figure('scrub-fps', fps)
  figure('scrub-longest-task-ms', long)

  // What a live page keeps.
  const session = await page.context().newCDPSession(page)
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage')
    return (await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1e6
  }
  await page.goto(process.argv[2] + '/?sel=RobotState/Proprioception/Simulation/humanoid')
  await page.waitForTimeout(10_000)
  figure('heap-MB', await heap())
  await page.waitForTimeout(60_000)
  figure('heap-after-1min-MB', await heap())
})
