import assert from 'node:assert/strict'
import { ask, place, shot, step, test } from './browser.mjs'

const stage = 'canvas.solid'

await test(
  async (open) => {
    const page = await open()
    const data = (name) => page.evaluate(([s, n]) => Number(document.querySelector(s)?.dataset[n] ?? 0), [stage, name])
    const more = (name, than) =>
      page.waitForFunction(([s, n, v]) => Number(document.querySelector(s)?.dataset[n] ?? 0) > v, [stage, name, than])
    /** Waits until nothing is drawn any more. */
    const still = () =>
      page.evaluate(async (s) => {
        let before = -1
        for (let same = 0; same < 30; ) {
          await new Promise((done) => requestAnimationFrame(done))
          const now = document.querySelector(s).dataset.frames
          same = now === before ? same + 1 : 0
          before = now
        }
      }, stage)
    const area = async () => place(page.locator(stage))

    step('what is there is drawn, and moves')
    await more('things', 10)
    await more('calls', 5)
    await more('frames', (await data('frames')) + 3)
    await shot(page, 'scene')

    step('at a time, nothing is drawn twice')
    await page.keyboard.press('Space')
    await page.waitForURL(/at=/)
    await still()
    const drawn = await data('frames')

    step('a click selects')
    const at = await area()
    find: for (let y = 0.3; y < 0.9; y += 0.06) {
      for (let x = 0.2; x < 0.9; x += 0.06) {
        await page.mouse.click(at.x + at.width * x, at.y + at.height * y)
        if (/Simulation/.test(await page.evaluate(() => decodeURIComponent(location.search)))) break find
      }
    }
    assert.match(await page.evaluate(() => decodeURIComponent(location.search)), /sel=(World|Object|RobotState)/)
    await more('frames', drawn) // it is marked
    await still()
    await shot(page, 'ui-scene')

    step('a camera goes along, and another frame is fixed')
    await page.getByLabel('follow').selectOption('Simulation/head')
    await page.waitForURL(/follow=/)
    await page.getByLabel('fixed').selectOption('Simulation/base_link')
    await page.waitForURL(/fixed=/)
    await still()

    step('where the camera went is a trail, at a time and live')
    await page.getByLabel('fixed').selectOption('Simulation/map')
    await page.getByLabel('trails').selectOption('10 s')
    await page.waitForURL(/trails=10/)
    await more('trails', 0)
    await page.keyboard.press('End')
    await more('trails', 0)
    await shot(page, 'scene-trails')
    await page.getByLabel('trails').selectOption('none')
    await page.waitForFunction((s) => document.querySelector(s).dataset.trails === '0', stage)

    step('where it will be is a ghost')
    await page.getByLabel('Ghosts').selectOption('1 s')
    await page.waitForURL(/ghosts=1000/)
    await more('ghosts', 0)
    await shot(page, 'scene-ghosts')
    await page.getByLabel('Ghosts').selectOption('none')
    await page.waitForFunction((s) => document.querySelector(s).dataset.ghosts === '0', stage)
    await page.keyboard.press('Space')

    step('frames are shown, and robots not')
    await page.getByText('Show', { exact: true }).click()
    const calls = await data('calls')
    await page.getByLabel('Robots').uncheck()
    await page.getByLabel('Frames').check()
    await page.waitForFunction(([s, c]) => Number(document.querySelector(s).dataset.calls) < c, [stage, calls])
    await page.getByText('Show', { exact: true }).click()
    await shot(page, 'scene-frames')

    step('two points are measured')
    await page.getByRole('button', { name: 'Above' }).click()
    await page.getByRole('button', { name: 'Measure' }).click()
    const selected = await page.evaluate(() => new URL(location.href).searchParams.get('sel'))
    const before = await data('frames')
    await page.mouse.click(at.x + at.width * 0.4, at.y + at.height * 0.5)
    await page.mouse.click(at.x + at.width * 0.6, at.y + at.height * 0.5)
    await more('frames', before)
    assert.equal(await page.evaluate(() => new URL(location.href).searchParams.get('sel')), selected)
    await shot(page, 'scene-measure')

    step('10,000 items are drawn by few calls')
    await ask('many')
    await page.goto(new URL('/', page.url()).href)
    await more('things', 10_000)
    await page.getByText('Show', { exact: true }).click()
    await page.getByLabel('Robots').uncheck()
    await page.waitForFunction((s) => Number(document.querySelector(s).dataset.calls) <= 20, stage)
    await shot(page, 'scene-many')

    step('why frames are missing is said')
    await ask('lose')
    await page.getByText(/frames? (is|are) missing/).click()
    await page.getByText('nowhere', { exact: true }).waitFor()
  },
  { expected: [/404/] },
)
