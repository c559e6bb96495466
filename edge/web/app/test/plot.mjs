import { address, figure, shot, step, test } from './browser.mjs'

const asked = new URL(address).searchParams

await test(async (open) => {
  const page = await open(new URL('/?view=plots', address).href)
  await page.getByRole('tab', { name: 'Plots', selected: true }).waitFor()
  const text = (name) => new Date(Number(BigInt(asked.get(name)) / 1_000_000n)).toISOString()
  const times = []
  for (let turn = 0; turn < 7; turn++) {
    step(`plot ${turn}`)
    // Each time another range by a little, of which nothing is fetched yet.
    const [from, to] = [Date.parse(text('from')) + turn * 7001, Date.parse(text('to'))].map((ms) => new Date(ms).toISOString())
    const view = new URLSearchParams({ view: 'plots', plot: asked.get('plot'), at: to, range: `${from}..${to}` })
    times.push(
      await page.evaluate(async (view) => {
        const began = performance.now()
        history.pushState(null, '', `?${view}`)
        dispatchEvent(new PopStateEvent('popstate'))
        const told = () => [...document.querySelectorAll('[role=tabpanel] section .value')].filter((e) => /\d/.test(e.textContent)).length
        while (told() < 11) await new Promise((done) => requestAnimationFrame(done))
        await new Promise((done) => requestAnimationFrame(done))
        const took = performance.now() - began
        history.pushState(null, '', '?view=plots')
        dispatchEvent(new PopStateEvent('popstate'))
        while (told()) await new Promise((done) => requestAnimationFrame(done))
        return took
      }, view.toString()),
    )
    if (turn === 0) {
      await page.goto(new URL(`/?${view}`, address).href)
      await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel] section .value').length === 11)
      await shot(page, 'plots-hour')
      await page.goto(new URL('/?view=plots', address).href)
      await page.getByRole('tab', { name: 'Plots', selected: true }).waitFor()
    }
  }
  times.sort((a, b) => a - b)
  figure('plot-p50-ms', times[3])
  figure('plot-max-ms', times[6])
})
