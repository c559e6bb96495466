// Figures of 3D and of a page that is only there: lines of "figure NAME VALUE".
import { readFileSync } from 'node:fs'
import { ask, figure, step, test } from './browser.mjs'

await test(async (open) => {
  const page = await open('about:blank', { viewport: { width: 800, height: 807 } })
  const origin = process.argv[2]
  const things = (n) => page.waitForFunction((n) => Number(document.querySelector('canvas.solid')?.dataset.things) > n, n)

  step('how much of a core the server takes')
  const share = async () => Number(await ask('share'))
  await page.goto(`${origin}/?view=scene`)
  await things(10)
  await share()
  await page.waitForTimeout(15_000)
  const withPage = await share()
  await page.goto(`${origin}/?view=table&at=-10s`)
  await share()
  await page.waitForTimeout(15_000)
  const idle = await share()
  await page.goto('about:blank')
  await share()
  await page.waitForTimeout(15_000)
  const without = await share()
  figure('server-live-page-percent', Math.max(0, (withPage - without) * 100))
  figure('server-idle-page-percent', Math.max(0, (idle - without) * 100))
  await ask('rest')

  step('10,000 boxes, with a camera that moves')
  await ask('many')
  await page.goto(`${origin}/?view=scene&wide=1`)
  await things(10_000)
  const area = await page.locator('canvas.solid').boundingBox()
  console.log(`the canvas has ${area.width} × ${area.height}`)
  const x = area.x + area.width / 2
  const y = area.y + area.height / 2
  const drawn = () => page.evaluate(() => ['frames', 'calls'].map((n) => Number(document.querySelector('canvas.solid').dataset[n])))
  await page.mouse.move(x, y)
  await page.mouse.down()
  const [before] = await drawn()
  const begun = performance.now()
  while (performance.now() - begun < 5000) await page.mouse.move(x + 200 * Math.sin((performance.now() - begun) / 500), y)
  const [after, calls] = await drawn()
  figure('boxes-10000-fps', ((after - before) * 1000) / (performance.now() - begun))
  figure('boxes-10000-calls', calls)
  await page.mouse.up()

  step('a grid of 10,000 × 10,000')
  const browser = await page.context().browser().newBrowserCDPSession()
  const memory = async () => {
    const { processInfo } = await browser.send('SystemInfo.getProcessInfo')
    let kB = 0
    for (const { id, type } of processInfo) {
      if (type === 'browser') continue
      try {
        kB += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))[1])
      } catch {
        // It has just ended.
      }
    }
    return kB / 1000
  }
  await page.goto(`${origin}/?view=scene&wide=1`)
  await things(10)
  await page.waitForTimeout(2000)
  const none = await memory()
  let tiles = 0
  page.on('response', (r) => (tiles += r.url().includes('/view/grid')))
  await ask('grid')
  const opened = performance.now()
  await page.reload()
  await page.waitForResponse(/view\/grid/)
  await page.waitForTimeout(500)
  figure('grid-first-tile-ms', performance.now() - opened - 500)
  let most = 0
  await page.mouse.move(x, y)
  for (let i = 0; i < 40; i++) {
    await page.mouse.wheel(0, i < 30 ? -240 : 240)
    await page.waitForTimeout(250)
    most = Math.max(most, (await memory()) - none)
  }
  figure('grid-tiles', tiles)
  figure('grid-most-MB', most)
})
