// More numbers than can be asked for at once, on a screen of more columns than there are bins for them.
import { ask, shot, step, test } from './browser.mjs'

await test(async (open) => {
  step('70 members are plotted on a wide screen')
  const plot = Array.from({ length: 70 }, (_, i) => `Vision/LaserScan/arm/laser#ranges[${i}]`).join('|')
  const page = await open(`${process.argv[2]}/?` + new URLSearchParams({ view: 'plots', plot, at: await ask('time') }), { viewport: { width: 4000, height: 900 } })
  await page.waitForFunction(() => [...document.querySelectorAll('[role=tabpanel] section .value')].filter((e) => /\d/.test(e.textContent)).length === 70)
  await shot(page, 'plot-many')
})
