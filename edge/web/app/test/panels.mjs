import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { accessible, ask, place, shot, step, test } from './browser.mjs'

const body = 'RobotState/Proprioception/Simulation/humanoid'
const camera = 'Vision/ImageRGB/Simulation/head_camera'
const depth = 'Vision/ImageDepth/Simulation/depth_camera'

await test(async (open) => {
  const page = await open()
  const panel = page.getByRole('tabpanel')
  const go = async (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
  const both = async (name) => {
    await shot(page, name)
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(page, `${name}-dark`)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  const drawn = (n) => {
    const all = [...document.querySelectorAll('[role=tabpanel] img')]
    return all.length === n && all.every((i) => i.complete && i.naturalWidth > 0)
  }

  step('both images of the stereo pair, which change; depth beside them')
  await go({ view: 'images', sel: camera })
  await page.waitForFunction(drawn, 3)
  const before = await page.locator('[role=tabpanel] img[alt="head_camera, left"]').getAttribute('src')
  await page.waitForFunction((b) => document.querySelector('[role=tabpanel] img[alt="head_camera, left"]')?.src !== b, before)
  await both('images')
  await accessible(page, 'images', '[role=tabpanel]')

  step('on narrow tiles nothing of what one can do is cut off, and cameras are told apart')
  await go({ view: 'images', beside: 'table,table,table' })
  await page.setViewportSize({ width: 1000, height: 720 })
  const caption = page.locator('figcaption', { hasText: 'head_camera' })
  await caption.getByText('Simulation', { exact: true }).waitFor()
  await caption.getByRole('button', { name: 'PNG right' }).waitFor()
  const cut = await caption.evaluate((c) => {
    const all = c.getBoundingClientRect()
    const isIn = (b) => b.left >= all.left && b.right <= all.right && b.bottom <= all.bottom + 1
    return [...c.querySelectorAll('button')].filter((b) => !isIn(b.getBoundingClientRect())).map((b) => b.textContent)
  })
  assert.deepEqual(cut, [])
  await shot(page, 'images-narrow')
  await page.setViewportSize({ width: 1280, height: 720 })
  await go({ view: 'images', sel: camera })
  await page.waitForFunction(drawn, 3)

  step('depth is coloured from near to far, and nothing where nothing was measured')
  await panel.getByText('1.0', { exact: true }).waitFor()
  await panel.getByText('3.1 m').waitFor()
  const pixels = await page.evaluate(async () => {
    const b = await createImageBitmap(document.querySelector('[role=tabpanel] img[alt="depth_camera"]'))
    const c = new OffscreenCanvas(b.width, b.height).getContext('2d')
    c.drawImage(b, 0, 0)
    return [0, 5, 100].map((x) => [...c.getImageData(x, 20, 1, 1).data])
  })
  assert.ok(pixels[0][3] === 255 && pixels[1][3] === 0 && pixels[2][0] > 2 * pixels[2][2], JSON.stringify(pixels))

  step('numbers are chosen, and plotted live')
  await go({ view: 'plots', sel: body })
  await panel.getByLabel('Filter the numbers').fill('position')
  await panel.getByRole('checkbox', { name: /position\./ }).nth(3).check()
  await panel.getByRole('checkbox', { name: /position\./ }).nth(4).check()
  // By the names of joints, wherever they stand.
  await page.waitForURL((url) => (url.searchParams.get('plot') ?? '').split('|').filter((p) => /#position\["\w+"\]$/.test(p)).length === 2)
  const two = () => [...document.querySelectorAll('[role=tabpanel] section .value')].filter((e) => /\d/.test(e.textContent)).length === 2
  await page.waitForFunction(two)
  const figures = () => [...document.querySelectorAll('[role=tabpanel] section .value')].map((e) => e.textContent).join()
  const figure = await page.evaluate(figures)
  await page.waitForFunction((f) => [...document.querySelectorAll('[role=tabpanel] section .value')].map((e) => e.textContent).join() !== f, figure)
  /** How much of a chart has the colour of a line, or of a bar. */
  const coloured = (nth = 0) => {
    const c = document.querySelectorAll('[data-testid=plot] canvas')[nth]
    if (!c) return 0
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
    let n = 0
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 60 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 80) n++
    return n
  }
  await page.waitForFunction(coloured)
  await both('plots')
  await accessible(page, 'plots', '[role=tabpanel]')

  step('what a skill does is shown as bars, beside them')
  await go({ view: 'plots', sel: body, plot: `${body}#position[3]|Skill/Execution/Platform/${await ask('skill')}#status` })
  await panel.locator('[data-testid=plot]').nth(1).waitFor()
  await panel.locator('.value', { hasText: /Running|Succeeded|Failed|Aborted/ }).waitFor()
  await page.waitForFunction(coloured, 1)
  await both('plots-states')

  // What is looked at before is still remembered then.
  const rest = Date.parse((await ask('rest')).replace(' ', 'T').replace(/(\.\d{3})\d*$/, '$1') + 'Z')

  step('a click on an image opens its snapshot, and time stands still there')
  await go({ view: 'images', image: camera })
  await page.waitForFunction(drawn, 2)
  await panel.getByRole('img').first().click()
  await page.waitForURL(/at=.*sel=Vision|sel=Vision.*at=/)
  await page.waitForFunction(drawn, 2)
  await page.waitForFunction(() => document.querySelector('[role=tabpanel] figure[data-at]'))
  await both('image-large')
  const [download] = await Promise.all([page.waitForEvent('download'), panel.getByRole('button', { name: 'PNG left' }).click()])
  assert.match(download.suggestedFilename(), /head_camera.*\.png$/)
  assert.equal(readFileSync(await download.path()).toString('latin1', 1, 4), 'PNG')

  step('a click goes to a time; dragging looks closer')
  const text = (ms) => new Date(ms).toISOString()
  await go({ view: 'plots', sel: body, plot: `${body}#position[3]|${body}#position[4]`, at: text(rest - 1000), range: `${text(rest - 4000)}..${text(rest)}` })
  await page.waitForFunction(two)
  await page.waitForFunction(coloured)
  const plot = page.locator('[data-testid=plot] .u-over')
  // A plot that is drawn anew in the middle of a gesture does not see it.
  const until = async (url, gesture) => {
    do await gesture(await place(plot))
    while (!(await page.waitForURL(url, { timeout: 3000 }).then(() => true, () => false)))
  }
  const at = new URL(page.url()).searchParams.get('at')
  await until((url) => url.searchParams.get('at') !== at, (area) => page.mouse.click(area.x + area.width * 0.4, area.y + area.height / 2))
  const closer = (url) => {
    const [from, to] = (url.searchParams.get('range') ?? '').split('..').map((t) => Date.parse(t))
    return to > from && to - from < 3600
  }
  // Most of the range stays, after a second drag, too.
  await until(closer, async (area) => {
    await page.mouse.move(area.x + area.width * 0.1, area.y + 20)
    await page.mouse.down()
    await page.mouse.move(area.x + area.width * 0.9, area.y + 20, { steps: 5 })
    await page.mouse.up()
  })
  await both('plots-past')
  const [csv] = await Promise.all([page.waitForEvent('download'), panel.getByRole('link', { name: 'CSV' }).click()])
  const rows = readFileSync(await csv.path(), 'utf8').split('\n')
  assert.equal(rows[0], 'time,position[3],position[4]')
  assert.ok(rows.length > 10 && rows.slice(1, -1).every((r) => /^\d{4}-.*Z,-?[\d.]+,-?[\d.]+$/.test(r)), `${page.url()}\n${rows.slice(0, 3).join('\n')}`)
  const [png] = await Promise.all([page.waitForEvent('download'), panel.getByRole('button', { name: 'PNG' }).click()])
  assert.match(png.suggestedFilename(), /\.png$/)
  await panel.getByRole('button', { name: /^Remove position/ }).first().click()
  await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel] section .value').length === 1)
})
