import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { accessible, address, ask, place, shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    let page = await open(new URL('?view=table', address).href)
    const time = page.getByTestId('time')
    const inspector = page.getByRole('complementary')
    const row = (name) => page.getByRole('treeitem').filter({ hasText: name }).first()

    step('Live numbers move.')
    await page.goto(new URL('?view=table&sel=RobotState/Proprioception/Simulation/humanoid', page.url()).href)
    const number = inspector.locator('dd').last()
    const before = await number.textContent()
    await page.waitForFunction((n) => [...document.querySelectorAll('aside dd')].pop()?.textContent !== n, before)
    await page.waitForFunction(() => /\d\/s/.test(document.querySelector('[role=tree]').innerText))
    await shot(page, 'live')

    step('The values of joints are told with their names.')
    await inspector.getByRole('button', { name: 'Open position' }).click()
    await inspector.getByText('neck_yaw', { exact: true }).waitFor()

    step('The tree: by keys down to an entity, and filtered.')
    await page.keyboard.press('/')
    await page.keyboard.type('cup')
    await row('cup').waitFor()
    await page.getByRole('treeitem', { name: /cup/ }).first().waitFor()
    await page.keyboard.press('Escape')
    await page.goto(new URL('?view=table&sel=Object/Instance/Simulation/cup', page.url()).href)
    await inspector.getByText('confidence').first().waitFor()

    await page.getByRole('tabpanel').getByText('bottle').first().waitFor()

    // What is looked at before is still remembered then.
    await ask('rest')

    step('Back in time, to the snapshot before; all is shown as of then, and the address says so.')
    await page.keyboard.press('Control+ArrowLeft')
    await page.waitForURL(/at=/)
    assert.match(await time.textContent(), /^at \d\d:/)
    assert.match(await inspector.textContent(), /in force for/)
    assert.doesNotMatch(await page.getByRole('tree').innerText(), /\d\/s/)
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.keyboard.press('Space')
    const shownTime = /at (\S+)/.exec(await time.textContent())[1]
    await page.waitForURL((u) => u.searchParams.get('at')?.includes(shownTime.slice(0, -1)))
    const shared = page.url()

    step('A link to it opens the same view elsewhere.')
    const other = await open(shared)
    await other.getByTestId('time').filter({ hasText: shownTime }).waitFor()
    await other.getByRole('complementary').getByText('confidence').first().waitFor()
    await other.context().close()

    step('A link leads to the image that it was seen in; back returns.')
    await inspector.getByRole('button', { name: /head_camera/ }).click()
    await inspector.getByRole('button', { name: 'head_camera', exact: true }).waitFor()
    await page.goBack()
    await inspector.getByRole('button', { name: 'cup', exact: true }).waitFor()

    step('A sentence is found, and opens paused at its time.')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('bring me the cup')
    await page.getByRole('option', { name: /Speech\/Text/ }).first().waitFor()
    await shot(page, 'palette')
    await page.getByRole('option', { name: /Speech\/Text/ }).first().click()
    await inspector.getByText('Bring me the cup').first().waitFor()

    step('A time is typed.')
    await page.getByRole('textbox', { name: 'Go to a time' }).fill('-2s')
    await page.keyboard.press('Enter')
    await page.waitForURL(/at=/)
    await page.keyboard.press('Escape')

    step('A range that is dragged with Shift is played by Space, and that is said.')
    const strip = await place(page.getByLabel('Timeline'))
    await page.keyboard.down('Shift')
    await page.mouse.move(strip.x + 0.2 * strip.width, strip.y + 20)
    await page.mouse.down()
    await page.mouse.move(strip.x + 0.3 * strip.width, strip.y + 20)
    await page.mouse.up()
    await page.keyboard.up('Shift')
    await page.getByText('Space plays this range again and again.').waitFor()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.waitForURL(/loop=/)
    await page.keyboard.press('End')

    step('A range that is dragged into the future ends now, and is played all the same.')
    await page.getByText('Space plays this range again and again.').waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Go to a time' }).fill('-10m')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Go to a time' }).fill('-1s')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await page.keyboard.down('Shift')
    await page.mouse.move(strip.x + 0.2 * strip.width, strip.y + 20)
    await page.mouse.down()
    await page.mouse.move(strip.x + 0.99 * strip.width, strip.y + 20)
    await page.mouse.up()
    await page.keyboard.up('Shift')
    await page.keyboard.press('Space')
    await page.waitForURL(/loop=/)
    const looped = new URL(page.url()).searchParams.get('loop').split('..')[1]
    assert.ok(Date.parse(looped) <= (await page.evaluate(() => Date.now())) + 1000, looped)
    await page.keyboard.press('End')

    step('What differs from the snapshot before.')
    await page.goto(new URL('?view=diff&sel=RobotState/Proprioception/Simulation/humanoid', page.url()).href)
    await page.getByRole('cell', { name: /^(effort|position|velocity)\[/ }).first().waitFor()
    await shot(page, 'diff')

    for (const [tab, seen] of [['Table', 'humanoid'], ['Diff', 'member']]) {
      step(`The view ${tab}.`)
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('tabpanel').getByText(seen).first().waitFor()
      await shot(page, tab.toLowerCase())
    }

    step('By eye the page is well in both themes; by rules it can be used by everybody.')
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      await accessible(page, colorScheme)
      await shot(page, colorScheme)
    }

    step('A theme that is chosen stays, whatever the system has; by command it is the system’s again.')
    const back = () => getComputedStyle(document.body).backgroundColor
    const dark = await page.evaluate(back)
    await page.getByLabel('Theme').selectOption('light')
    const light = await page.evaluate(back)
    assert.notEqual(light, dark)
    await page.reload()
    await page.getByLabel('Theme').waitFor()
    assert.equal(await page.evaluate(back), light)
    await shot(page, 'theme')
    const download = page.waitForEvent('download')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('view as a page')
    await page.keyboard.press('Enter')
    const saved = await open('about:blank', { colorScheme: 'dark' })
    await saved.setContent(readFileSync(await (await download).path(), 'utf8'))
    assert.equal(await saved.evaluate(back), light)
    assert.doesNotMatch(await saved.locator('body').innerText(), / ago|recording goes on/)
    assert.match(await saved.getByTestId('time').textContent(), /^at \d\d:/)
    assert.match(await saved.locator('[role=treeitem] .age').first().textContent(), /^\d\d:\d\d:/)
    await saved.context().close()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('theme: system')
    await page.keyboard.press('Enter')
    await page.waitForFunction((dark) => getComputedStyle(document.body).backgroundColor === dark, dark)

    step('The server goes, and is back.')
    await ask('stop')
    const gone = page.getByRole('status').getByText('The server does not answer')
    await gone.waitFor()
    await time.filter({ hasText: 'not live' }).waitFor()
    assert.doesNotMatch(await page.locator('body').innerText(), /fetch/)
    await shot(page, 'lost')
    await ask('start')
    await gone.waitFor({ state: 'detached' })
    await time.filter({ hasText: /^live/ }).waitFor()
    await page.getByText('connected', { exact: true }).first().waitFor()
  },
  // What a browser says of a server that is away.
  { expected: [/net::ERR_|Failed to fetch|502|503/] },
)
