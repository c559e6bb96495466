import { ask, shot, step, test } from './browser.mjs'

await test(async (open) => {
  const page = await open()
  const panel = page.getByRole('tabpanel')
  step('nothing yet: it says how to begin')
  await page.goto(new URL('?view=attention', page.url()).href)
  await panel.getByText('No producer has attention here').waitFor()

  step('what comes is shown: incidents, what was passed on, rules, surprises, scores')
  await ask('attend')
  const row = (table, text) => panel.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text })
  await row('Incidents', 'GraspObject').getByText('4.0 s').waitFor()
  await row('What was passed on', 'head_camera').getByText('1,200').waitFor()
  await row('Rules', 'grasp').getByText('while Skill/Execution').waitFor()
  await row('Surprises', 'humanoid').getByText('surprises').waitFor()
  await row('How good predictions are', 'humanoid').getByText('62 %').waitFor()
  await shot(page, 'attention')

  step('a click leads to the cause')
  await row('Incidents', 'GraspObject').getByRole('button', { name: 'Execution/Simulation/GraspObject-1.3' }).click()
  await page.waitForURL(/sel=Skill/)

  step('what rests on what is not believed any more says so')
  await ask('withdraw')
  await page.goto(new URL('?view=trace&sel=Object/Instance/Simulation/glass', page.url()).href)
  await panel.getByRole('note').getByText('doubtful: it rests on').waitFor()
  await panel.getByRole('button', { name: /doubt_camera.*withdrawn/ }).waitFor()
  await shot(page, 'doubt')

  step('of several snapshots that are one node it says how many')
  await page.goto(new URL('?view=trace&trace=down&sel=Object/Instance/Simulation/marker', page.url()).href)
  await panel.getByRole('button', { name: /cup.*1 of 3 doubtful/ }).waitFor()
})
