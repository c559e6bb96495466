// A real browser for the tests of the page.
import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { mkdirSync, readFileSync } from 'node:fs'

export const [, , address] = process.argv
const shots = process.env.ENGRAM_SCREENSHOTS

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** Has the test do something, and returns its answer. */
export async function ask(what) {
  console.log(`do ${what}`)
  return (await lines.next()).value
}

let at = ''

/** Says what is tried next, for who reads why a test failed. */
export function step(what) {
  at = what
  console.log(what)
}

/** Tells a benchmark a figure; measure_test.go reads it. */
export const figure = (name, value) => console.log(`figure ${name} ${Number(value.toPrecision(4))}`)

/** Runs a test in a browser; what the page says is wrong, and requests to elsewhere, fail it. */
export async function test(run, { expected = [] } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    handleSIGTERM: false, // see below
    args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  })
  const wrong = []
  let failed
  // Who waits when the test's time is over says where.
  process.once('SIGTERM', () => browser.close())
  try {
    const open = async (url = address, options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, timezoneId: 'UTC', ...options })
      // What is waited for comes within this, however busy the computer is; a step that hangs says where.
      context.setDefaultTimeout(120_000)
      const page = await context.newPage()
      page.on('pageerror', (e) => wrong.push(`error: ${e.stack ?? e}`))
      page.on('console', (m) => m.type() === 'error' && !m.text().startsWith('Failed to load resource') && wrong.push(`console: ${m.text()}`))
      page.on('response', (r) => r.status() >= 400 && wrong.push(`${r.status()}: ${r.url()}`))
      page.on('request', (r) => {
        const to = new URL(r.url())
        if (/^https?:|^wss?:/.test(r.url()) && to.origin !== new URL(address).origin) wrong.push(`request to ${r.url()}`)
      })
      await page.goto(url)
      return page
    }
    await run(open)
  } catch (e) {
    failed = e
    for (const [i, context] of browser.contexts().entries()) for (const page of context.pages()) await shot(page, `failed-${i}`).catch(() => undefined)
  }
  await browser.close()
  const unexpected = wrong.filter((w) => !expected.some((e) => e.test(w)))
  if (failed) console.error(`at "${at}":`, failed)
  if (unexpected.length) console.error(unexpected.slice(0, 20).join('\n'))
  process.exit(failed || unexpected.length ? 1 : 0)
}

/** Fails if the page, or a part of it, breaks rules of accessibility as it is. */
export async function accessible(page, what = '', part = 'html') {
  await page.evaluate(axe)
  const { violations } = await page.evaluate((part) => globalThis.axe.run(part), part)
  assert.deepEqual(violations.map((v) => `${what} ${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`), [])
}

/** Where something is on the screen, once it is. */
export async function place(locator) {
  for (;;) {
    await locator.first().waitFor()
    const box = await locator.first().boundingBox()
    if (box) return box // else it was just made anew
  }
}

/** Keeps a picture of the page, where somebody wants to see it. */
export async function shot(page, name) {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: `${shots}/${name}.png` })
}
