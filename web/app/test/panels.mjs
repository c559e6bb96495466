import assert from 'node:assert/strict'
import { ask, place, shot, step, test } from './browser.mjs'

const body = 'RobotState/Proprioception/Simulation/humanoid'
const camera = 'Vision/ImageRGB/Simulation/head_camera'

await test(async (open) => {
  const page = await open()
  const panel = page.getByRole('tabpanel')
  const go = async (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
  const seen = () => [...document.querySelectorAll('[role=tabpanel] img')].map((i) => i.src)
  const drawn = () => {
    const all = [...document.querySelectorAll('[role=tabpanel] img')]
    return all.length === 2 && all.every((i) => i.complete && i.naturalWidth > 0)
  }

  step('both images of the stereo pair, which change')
  await go({ view: 'images' })
  await page.waitForFunction(drawn)
  const before = await page.evaluate(seen)
  await page.waitForFunction((b) => document.querySelector('[role=tabpanel] img')?.src !== b, before[0])
  await shot(page, 'images')

  step('numbers are chosen, and plotted live')
  await go({ view: 'plots', sel: body })
  await panel.getByLabel('Filter the numbers').fill('position')
  await panel.getByRole('checkbox', { name: /position\[3\]/ }).check()
  await panel.getByRole('checkbox', { name: /position\[4\]/ }).check()
  await page.waitForURL(/plot=/)
  const figures = () => [...document.querySelectorAll('[role=tabpanel] section li .mono')].map((e) => e.textContent)
  await page.waitForFunction(() => [...document.querySelectorAll('[role=tabpanel] section li .mono')].filter((e) => /\d/.test(e.textContent)).length === 2)
  const figure = (await page.evaluate(figures)).join()
  await page.waitForFunction((f) => [...document.querySelectorAll('[role=tabpanel] section li .mono')].map((e) => e.textContent).join() !== f, figure)
  await shot(page, 'ui-plots')
  const coloured = () => {
    const c = document.querySelector('[data-testid=plot] canvas')
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
    let n = 0
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 100 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 80) n++
    return n
  }
  await page.waitForFunction(coloured)

  step('what they will be is plotted with its bands')
  await panel.getByLabel('Predict').selectOption('2 s')
  await page.waitForURL(/ahead=2/)
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=predicted]').length === 2)
  await shot(page, 'plots-predicted')
  await panel.getByLabel('Predict').selectOption('nothing')
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=predicted]').length === 0)

  step('what a skill does is shown as bars, beside them')
  await go({ view: 'plots', plot: `${body}#position[3]|Skill/Execution/Simulation/${await ask('skill')}#status` })
  await panel.locator('[data-testid=plot]').nth(1).waitFor()
  await panel.getByText(/(Running|Succeeded|Failed|Aborted) \(/).waitFor()
  await shot(page, 'plots-states')
  await go({ view: 'plots', plot: `${body}#position[3]|${body}#position[4]` })
  await page.waitForFunction(() => [...document.querySelectorAll('[role=tabpanel] section li .mono')].filter((e) => /\d/.test(e.textContent)).length === 2)

  // What is looked at before is still remembered then.
  const numbers = page.url()
  await ask('rest')

  await go({ view: 'images' })
  await page.waitForFunction(drawn)
  await panel.getByRole('img').first().click()
  await page.waitForURL(/sel=Vision/)
  step('in the past images stand still, at the time that is said')
  await page.keyboard.press('Control+ArrowLeft')
  await page.waitForURL(/at=/)
  await page.waitForFunction(drawn)
  step('one alone is larger')
  await panel.getByRole('button', { name: 'Larger' }).click()
  await page.waitForFunction(drawn)
  await page.waitForFunction(() => document.querySelector('[role=tabpanel] img')?.naturalWidth >= 320)
  await shot(page, 'image-large')
  const [download] = await Promise.all([page.waitForEvent('download'), panel.getByRole('button', { name: 'PNG 0' }).click()])
  assert.match(download.suggestedFilename(), /head_camera.*\.png$/)

  step('what was recognised lies over both images, can be hidden, and leads to what says so')
  await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel] svg[data-marks]').length === 2)
  await shot(page, 'image-marks')
  await panel.getByLabel('detections').uncheck()
  await page.waitForURL(/marks=off/)
  await page.waitForFunction(() => !document.querySelector('[role=tabpanel] svg[data-marks]'))
  await panel.getByLabel('detections').check()
  await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel] svg[data-marks]').length === 2)
  await panel.locator('svg[data-marks] text').first().dispatchEvent('click')
  await page.waitForURL(/sel=Object/)

  await page.goto(numbers)
  step('a click goes to a time; dragging looks closer')
  const plot = page.locator('[data-testid=plot] .u-over')
  // A plot that is drawn anew in the middle of a gesture does not see it.
  const until = async (url, gesture) => {
    do await gesture(await place(plot))
    while (!(await page.waitForURL(url, { timeout: 3000 }).then(() => true, () => false)))
  }
  await until(/at=.*range=|range=.*at=/, (area) => page.mouse.click(area.x + area.width * 0.9, area.y + area.height / 2))
  const range = new URL(page.url()).searchParams.get('range')
  await until((url) => url.searchParams.get('range') !== range, async (area) => {
    await page.mouse.move(area.x + area.width * 0.4, area.y + 20)
    await page.mouse.down()
    await page.mouse.move(area.x + area.width * 0.6, area.y + 20, { steps: 5 })
    await page.mouse.up()
  })
  const [from, to] = new URL(page.url()).searchParams.get('range').split('..').map((t) => Date.parse(t))
  assert.ok(to - from < 20_000, `${from} to ${to}`)
  await shot(page, 'plots-past')
  const [csv] = await Promise.all([page.waitForEvent('download'), panel.getByRole('link', { name: 'CSV' }).click()])
  assert.match(csv.suggestedFilename(), /csv$/)
})
