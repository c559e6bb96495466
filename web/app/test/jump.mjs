// How long it takes after a jump to a random second until the views of that time are complete.
import { address, figure, test } from './browser.mjs'

const given = new URL(address)
const [from, to] = ['from', 'to'].map((n) => Number(given.searchParams.get(n)) / 1e9)
const body = 'RobotState/Proprioception/Simulation/humanoid'
const camera = 'Vision/ImageRGB/Simulation/head_camera'
const time = (s) => new Date(s * 1000).toISOString()

await test(async (open) => {
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
    await page.waitForTimeout(300) // one looks at what one sees before the next jump
  }
  took.sort((a, b) => a - b)
  figure('jump-p50-ms', took[20])
  figure('jump-p90-ms', took[36])
})
