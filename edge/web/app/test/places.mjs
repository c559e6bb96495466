// Where addresses, IDs and keys lead to, also when it is not there, or the server is not.
import assert from 'node:assert/strict'
import { address, ask, shot, step, test } from './browser.mjs'

const eye = 'Vision/ImageRGB/me/eye'
const body = 'RobotState/Proprioception/Simulation/humanoid'

await test(
  async (open) => {
    const page = await open(`${address}/?view=table&sel=${encodeURIComponent(eye)}`)
    const inspector = page.getByRole('complementary')
    const alerts = page.locator('.alerts')
    const time = page.getByTestId('time')
    const go = (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
    const of = (key) => new URL(page.url()).searchParams.get(key)
    const taken = await ask('taken') // as it stands in an ID

    step('The ID of a snapshot that is pasted leads to it.')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill(`${eye}/${taken}`)
    await page.getByRole('option', { name: `snapshot ${eye}/${taken}` }).click()
    await inspector.getByText(/in force for/).waitFor()
    await page.waitForURL((u) => u.searchParams.get('sel') === eye && u.searchParams.has('at'))
    assert.equal(await inspector.getByRole('alert').count(), 0)

    step('An ID in the address does, too; where no such snapshot is, that is said, and which one is shown.')
    await go({ view: 'table', sel: `${eye}/${taken.slice(0, 10)} 23:59:59.999` })
    await inspector.getByRole('alert').getByText(new RegExp(`23:59:59.999000000, which the link is to, is not there; this is the one in force then, of ${taken.slice(0, 19)}`)).waitFor()
    await shot(page, 'places-gone')

    step('As of before, no skill was known; live is what is known now.')
    const lane = page.locator('.names').getByText('skills')
    await go({ view: 'table' })
    await lane.waitFor()
    await page.getByRole('slider', { name: 'As known at' }).press('ArrowLeft')
    await page.waitForURL(/asof=.*|at=/)
    await time.filter({ hasText: /^at / }).waitFor()
    await page.getByText(/^as known at \d\d:/).first().waitFor()
    await page.evaluate(() => {
      history.pushState(null, '', '?view=table&asof=2001-01-01T00:00:00Z')
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await lane.waitFor({ state: 'detached' })
    await page.keyboard.press('End')
    await page.waitForURL((u) => !u.searchParams.has('asof') && !u.searchParams.has('at'))
    await time.filter({ hasText: /^live/ }).waitFor()
    await lane.waitFor()

    step('Views that there are not are told of, and left out.')
    await go({ view: 'nope', beside: 'plots,table,never', 'pattern.3': 'Vision' })
    await alerts.getByText(/nope, never/).waitFor()
    assert.deepEqual(await page.locator('main select[aria-label^="View "]').evaluateAll((all) => all.map((s) => s.value)), ['plots', 'table'])
    await page.waitForURL((u) => u.searchParams.get('view') === 'plots')
    assert.deepEqual([of('beside'), of('pattern.2')], ['table', 'Vision'])

    step('What is compared with another entity is told apart.')
    await go({ view: 'diff', sel: eye, diff: 'Vision/ImageRGB/me/other' })
    for (const id of [eye, 'Vision/ImageRGB/me/other']) await page.getByRole('columnheader', { name: id }).waitFor()

    step('Numbers that could not be asked for are asked for again when the server is back; the last image stays until then.')
    await go({ view: 'table', sel: body })
    await page.getByRole('treeitem').first().waitFor()
    const all = /\/view\/|Service\//
    await page.route(/view.members/, (route) => route.abort())
    const failed = page.waitForEvent('requestfailed', (r) => r.url().includes('/view/members'))
    await page.getByRole('tab', { name: 'Plots' }).click()
    await failed
    assert.equal(await page.getByText('There is no number').count(), 0)
    await page.route(all, (route) => route.abort())
    await alerts.getByText('The server does not answer.').waitFor()
    await page.unrouteAll()
    await page.getByRole('checkbox', { name: /position\./ }).first().waitFor()
    await go({ view: 'images', image: eye })
    const drawn = () => document.querySelector('[role=tabpanel] img')?.naturalWidth > 0
    await page.waitForFunction(drawn)
    await page.route(all, (route) => route.abort())
    await alerts.getByText('The server does not answer.').waitFor()
    await page.keyboard.press(',')
    await page.getByText('The server does not answer. This is the last image that came.').waitFor()
    assert.ok(await page.evaluate(drawn))
    await shot(page, 'places-lost')
    await page.unrouteAll()
    await alerts.getByText('The server does not answer.').waitFor({ state: 'detached' })
  },
  { expected: [/net::ERR_|Failed to fetch/] },
)
