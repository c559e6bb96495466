// Figures of the live page: lines of "figure NAME VALUE", medians where nothing else is said.
import { address, ask, figure, test } from '../../edge/web/app/test/browser.mjs'

const origin = new URL(address).origin
const open20 = Number(new URL(address).searchParams.get('for'))
const sorted = (all) => [...all].sort((a, b) => a - b)
const at = (all, part) => sorted(all)[Math.floor((all.length - 1) * part)]
const median = (all) => at(all, 0.5)

await test(async (open) => {
  // What the server takes for a page that is open while nothing happens.
  const without = Number(await ask('load'))
  let page = await open(`${origin}/`)
  await page.getByRole('treeitem').first().waitFor()
  figure('server-idle-page-percent', Number(await ask('load')) - without)
  await page.context().close()

  await ask('live')
  // From the request to a filled tree, nothing cached.
  const paints = []
  for (let i = 0; i < 7; i++) {
    page = await open('about:blank')
    await page.addInitScript(() => {
      const done = () => {
        if (document.querySelectorAll('[role=treeitem]').length < 10) return
        watch.disconnect()
        requestAnimationFrame(() => setTimeout(() => (globalThis.filled ??= performance.now())))
      }
      const watch = new MutationObserver(done)
      watch.observe(document, { childList: true, subtree: true })
    })
    await page.goto(`${origin}/`)
    await page.waitForFunction(() => globalThis.filled)
    paints.push(await page.evaluate(() => globalThis.filled))
    const scripts = () => page.evaluate(() => performance.getEntriesByType('resource').filter((r) => r.name.endsWith('.js')).reduce((n, r) => n + r.encodedBodySize, 0) / 1000)
    if (i === 6) {
      figure('js-first-kB', await scripts())
      for (const tab of await page.getByRole('tab').all()) {
        await tab.click()
        await page.getByRole('tabpanel').waitFor()
        await page.waitForFunction(() => !document.querySelector('[role=tabpanel]')?.textContent.includes('Loading…'))
      }
      figure('js-all-kB', await scripts())
    }
    await page.context().close()
  }
  figure('first-paint-ms', median(paints))

  // From the call of commit to the text on the screen.
  page = await open(`${origin}/?view=table&sel=Speech/Text/Bench/clock`)
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

  // Frames while one scrolls and scrubs, and the longest that the page was held up.
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
  await page.goto(`${origin}/?view=table&sel=GeneralPurpose/Many/Crowd/entity-00000`)
  await page.getByRole('treeitem', { name: /entity-00001/ }).waitFor()
  const tree = await page.getByRole('tree').boundingBox()
  await page.mouse.move(tree.x + 50, tree.y + 100)
  let [fps, long] = await moving(() => page.mouse.wheel(0, 400))
  figure('scroll-100000-entities-fps', fps)
  figure('scroll-longest-task-ms', long)
  await page.goto(`${origin}/?view=table&sel=RobotState/Proprioception/Simulation/humanoid`)
  const strip = await page.getByLabel('Timeline', { exact: true }).boundingBox()
  await page.mouse.move(strip.x + 200, strip.y + 5)
  await page.mouse.down()
  ;[fps, long] = await moving((ms) => page.mouse.move(strip.x + 200 + (ms / 3000) * (strip.width - 400), strip.y + 5))
  await page.mouse.up()
  figure('scrub-fps', fps)
  figure('scrub-longest-task-ms', long)
  await page.context().close()

  // What a live page takes of the server, and keeps.
  const living = Number(await ask('load'))
  page = await open(`${origin}/?sel=RobotState/Proprioception/Simulation/humanoid`)
  await page.getByRole('treeitem').first().waitFor()
  const session = await page.context().newCDPSession(page)
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage')
    return (await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1e6
  }
  figure('server-live-page-percent', Number(await ask('load')) - living)
  await page.waitForTimeout(open20 / 4)
  figure(`heap-after-${Math.round(open20 / 4000)}-s-MB`, await heap())
  await page.waitForTimeout((open20 * 3) / 4)
  figure(`heap-after-${Math.round(open20 / 1000)}-s-MB`, await heap())
})
