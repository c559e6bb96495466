import assert from 'node:assert/strict'
import { accessible, shot, step, test } from './browser.mjs'

const person = 'GeneralPurpose/Person/Eyes/Ada'

await test(async (open) => {
  const page = await open()
  const go = (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)

  step('a line for each hypothesis, with its probability')
  await go({ view: 'plots', plot: `${person}#pose.position.y`, ahead: '2' })
  const told = await page.waitForFunction(() => {
    const all = [...document.querySelectorAll('[data-testid=hypothesis]')].map((e) => e.textContent)
    return all.length >= 2 && all
  })
  await shot(page, 'plots-hypotheses')
  const ways = (await told.jsonValue()).map((text) => /^(\d+) % (\S+)$/.exec(text.trim()))
  assert.ok(ways.every(Boolean) && ways.length <= 6, `${ways}`)
  const sum = ways.reduce((n, w) => n + Number(w[1]), 0)
  assert.ok(sum > 50 && sum <= 102, `${ways}`)
  assert.notEqual(ways[0][2], ways[1][2])
  await accessible(page)

  step('in 3D a ghost for each, with its ellipsoid')
  await go({ ghosts: '2000' })
  await page.waitForFunction(() => {
    const { ghosts, uncertain } = document.querySelector('canvas.solid')?.dataset ?? {}
    return Number(ghosts) >= 2 && Number(uncertain) >= 2
  })
  await shot(page, 'scene-hypotheses')

  step('ellipsoids are hidden, ghosts are not')
  await page.getByText('Show', { exact: true }).click()
  await page.getByLabel('Uncertainty').uncheck()
  await page.waitForFunction(() => {
    const { ghosts, uncertain } = document.querySelector('canvas.solid').dataset
    return Number(ghosts) >= 1 && uncertain === '0'
  })
})
