import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { shot, step, test } from './browser.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const body = 'RobotState/Proprioception/Simulation/humanoid'

await test(async (open) => {
  const page = await open()
  const view = (n) => page.getByRole('region', { name: `View ${n}` })

  step('add views')
  await page.getByRole('button', { name: 'Add a view' }).click()
  await view(2).waitFor()
  await view(1).locator('canvas').first().waitFor()
  await page.getByRole('button', { name: 'Add a view' }).click()
  await page.getByLabel('View 3', { exact: true }).selectOption('plots')
  await page.waitForURL(/beside=images%2Cplots/)

  step('each has its own')
  await page.goto(new URL(`?view=diff&sel=${body}&beside=table,table&pattern.2=Object&pattern.3=Speech&at=-3s`, page.url()).href)
  await view(2).getByRole('row', { name: /^Object\// }).first().waitFor()
  assert.equal(await view(2).getByRole('row', { name: /^Speech\// }).count(), 0)
  await view(3).getByRole('row', { name: /^Speech\// }).first().waitFor()
  await shot(page, 'views')

  step('compare with another entity')
  await view(1).getByPlaceholder(/or an ID/).fill('RobotState/Localization/Simulation/odom,base_link')
  await page.keyboard.press('Enter')
  await view(1).getByRole('row', { name: /parent_frame_id/ }).waitFor()

  step('accessible')
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run())
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), [])

  step('close the first')
  await view(1).locator('xpath=..').getByRole('button', { name: /^Close/ }).click()
  await page.waitForURL((u) => u.searchParams.get('pattern') === 'Object' && u.searchParams.get('pattern.2') === 'Speech' && !u.searchParams.has('diff'))
  await view(2).getByRole('row', { name: /^Speech\// }).first().waitFor()

  step('only the views')
  await page.getByRole('navigation').waitFor()
  await page.evaluate(() => document.activeElement?.blur())
  await page.keyboard.press('w')
  await page.getByRole('navigation').waitFor({ state: 'hidden' })
  await page.waitForURL(/wide=1/)
  // Another browser shows the same.
  const other = await open(page.url())
  await other.getByRole('region', { name: 'View 2' }).getByRole('row', { name: /^Speech\// }).first().waitFor()
  await other.getByRole('navigation').waitFor({ state: 'hidden' })
})
