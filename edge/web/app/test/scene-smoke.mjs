// What is where, in 3D and in the world: at a glance.
import assert from 'node:assert/strict'
import { accessible, place, shot, step, test } from './browser.mjs'
import { clickAnItem, data, more, stage, still } from './stage-tools.mjs'

await test(async (open) => {
  const origin = process.argv[2]
  const page = await open(`${origin}/?view=scene`)

  step('what is there is drawn, and moves')
  await more(page, 'things', 10)
  await more(page, 'calls', 5)
  await more(page, 'frames', (await data(page, 'frames')) + 3)

  step('a click selects')
  await page.keyboard.press('Space')
  await page.waitForURL(/at=/)
  await still(page)
  const name = await clickAnItem(page)
  await accessible(page, '3D', 'main')
  await shot(page, 'scene-smoke')

  step('the world has it in its tree and on its floor plan')
  await page.getByRole('tab', { name: 'World' }).click()
  const row = page.getByRole('tree', { name: 'Items of the world' }).getByRole('treeitem', { selected: true })
  await row.waitFor()
  assert.ok((await row.innerText()).includes(name), `${await row.innerText()} is not ${name}`)
  await page.waitForFunction(() => Number(document.querySelector('canvas[data-items]').dataset.items) > 3)
  await accessible(page, 'World', 'main')

  step('keys and clicks on the plan select')
  await page.getByRole('tree', { name: 'Items of the world' }).press('Home')
  const first = await page.evaluate(() => location.search)
  const plan = await place(page.locator('canvas[data-items]'))
  for (let i = 1; i < 20 && (await page.evaluate(() => location.search)) === first; i++) {
    await page.mouse.click(plan.x + (plan.width * i) / 20, plan.y + plan.height / 2)
  }
  assert.notEqual(await page.evaluate(() => location.search), first)
  await shot(page, 'world-smoke')
  assert.ok(await page.evaluate((s) => !document.querySelector(s), stage), 'the scene is still there')
})
