import { address, figure, shot, step, test } from './browser.mjs'

const asked = new URL(address).searchParams

await test(async (open) => {
  const page = await open(new URL('/?view=plots', address).href)
  await page.getByRole('tab', { name: 'Plots', selected: true }).waitFor()
  const text = (name) => new Date(Number(BigInt(asked.get(name)) / 1_000_000n)).toISOString()
  const times = []
  for (let turn = 0; turn < 14; turn++) {
    step(`plot ${turn}`)
    // Each time another range by a little, of which the page has nothing; first other joints, of which the server holds
    // nothing, then those of the last turn.
    const [from, to] = [Date.parse(text('from')) + turn * 7001, Date.parse(text('to'))].map((ms) => new Date(ms).toISOString())
    const plot = asked.get('plot').replace(/position\[(\d+)\]/g, (_, i) => `position[${(Number(i) + Math.min(turn, 6)) % 43}]`)
    const view = new URLSearchParams({ view: 'plots', plot, at: to, range: `${from}..${to}` })
    times.push(
      await page.evaluate(async (view) => {
        const began = performance.now()
        history.pushState(null, '', `?${view}`)
        dispatchEvent(new PopStateEvent('popstate'))
        const told = () => [...document.querySelectorAll('[role=tabpanel] section .value')].filter((e) => /\d/.test(e.textContent)).length
        // By timers: where nothing changes on the screen, a browser without one makes frames seconds apart.
        while (told() < 11 || !document.querySelector('[data-testid=plot] canvas')) await new Promise((done) => setTimeout(done, 2))
        await new Promise((done) => requestAnimationFrame(done))
        const took = performance.now() - began
        history.pushState(null, '', '?view=plots')
        dispatchEvent(new PopStateEvent('popstate'))
        while (told()) await new Promise((done) => setTimeout(done, 2))
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
  const [others, again] = [times.slice(0, 7), times.slice(7)].map((some) => some.sort((a, b) => a - b))
  figure('plot-p50-ms', others[3])
  figure('plot-max-ms', others[6])
  figure('plot-again-p50-ms', again[3])
})
