// Figures of the page over a long recording: lines of "figure NAME VALUE".
import { address, figure, test } from '../../edge/web/app/test/browser.mjs'

const given = new URL(address)
const [from, to] = ['from', 'to'].map((n) => Number(given.searchParams.get(n)) / 1e9)
const body = 'RobotState/Proprioception/Simulation/humanoid'
const time = (s) => new Date(s * 1000).toISOString()
const at = (all, part) => [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * part)]

await test(async (open) => {
  // How long it takes after a jump to a random second until three views of that time are complete.
  const query = new URLSearchParams({
    view: 'scene', beside: 'images,plots', wide: '1', range: `${time(from)}..${time(to)}`,
    'plot.3': [3, 4, 5].map((i) => `${body}#position[${i}]`).join('|'),
  })
  const page = await open(`${given.origin}/?${query}&at=${time(from + 1)}`)
  const jump = (at, address) =>
    page.evaluate(
      ([at, address]) =>
        new Promise((done) => {
          const begun = performance.now()
          history.pushState(null, '', address)
          dispatchEvent(new PopStateEvent('popstate'))
          const look = () => {
            const scene = Math.abs(Number(document.querySelector('canvas[data-at]')?.dataset.at) / 1e9 - at) < 0.001
            const images = [...document.querySelectorAll('figure img')]
            const seen = Math.abs(Number(document.querySelector('figure')?.dataset.at) / 1e9 - at) < 0.001
            const plot = document.querySelectorAll('[data-testid=plot] canvas').length > 0
            if (scene && plot && images.length === 2 && images.every((i) => i.complete && i.naturalWidth) && seen) {
              requestAnimationFrame(() => done(performance.now() - begun))
            } else setTimeout(look, 2)
          }
          look()
        }),
      [at, address],
    )
  const took = []
  for (let i = 0; i < 44; i++) {
    const at = from + 2 + Math.random() * (to - from - 4)
    query.set('at', time(at))
    const ms = await jump(Number(Date.parse(time(at))) / 1000, `?${query}`)
    if (i >= 4) took.push(ms) // the first ones are of a page that is still loading
    await page.waitForTimeout(300) // one looks at the views before the next jump
  }
  figure('jump-p50-ms', at(took, 0.5))
  figure('jump-p90-ms', at(took, 0.9))
  await page.context().close()

  // A plot of ten joints over all of it, from the address to its lines.
  const plots = []
  for (let i = 0; i < 14; i++) {
    // Another range each time, of which the page has nothing; first other joints, of which the server holds nothing, then
    // those of the last turn.
    const range = `${time(from + i)}..${time(to - i)}`
    const lines = Array.from({ length: 10 }, (_, k) => `${body}#position[${(4 * k + Math.min(i, 6)) % 43}]`).join('|')
    const plot = await open('about:blank')
    await plot.goto(`${given.origin}/?view=table&wide=1&at=${time(to)}`)
    await plot.getByRole('tab').first().waitFor()
    await plot.waitForTimeout(500) // one looks at the page before one opens a plot; until then it is still loading
    plots.push(
      await plot.evaluate(
        (address) =>
          new Promise((done) => {
            const begun = performance.now()
            history.pushState(null, '', address)
            dispatchEvent(new PopStateEvent('popstate'))
            const look = () => {
              const told = [...document.querySelectorAll('main section .value')].filter((e) => /\d/.test(e.textContent)).length
              if (told === 10 && document.querySelector('[data-testid=plot] canvas')) requestAnimationFrame(() => done(performance.now() - begun))
              else setTimeout(look, 2)
            }
            look()
          }),
        `?${new URLSearchParams({ view: 'plots', wide: '1', at: time(to), range, plot: lines })}`,
      ),
    )
    await plot.context().close()
  }
  figure('plot-of-10-joints-p50-ms', at(plots.slice(0, 7), 0.5))
  figure('plot-of-10-joints-again-p50-ms', at(plots.slice(7), 0.5))
})
