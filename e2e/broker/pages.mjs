// The broker's pages as people see them: pages.mjs CHROMIUM BROKER FORGE PEOPLE PICTURES
//
// Each page in light and dark, on a desktop and on a phone; pictures of all are left in a folder.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { approve, launch, walk, watched } from './browser.mjs';
import { Plain, listen } from './client.mjs';

const [program, broker, forge, people, pictures] = process.argv.slice(2);
const passwords = JSON.parse(people);
const homes = [broker, forge];
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};

mkdirSync(pictures, { recursive: true });
const { browser, close } = await launch(program);

/// Words that stand out less from what is behind them than WCAG wants (4.5 to 1), in the page itself
function faint() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((value, at) => value * a + below[at] * (1 - a));
  const light = (color) => {
    const [r, g, b] = color.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const canvas = document.body.appendChild(document.createElement('i'));
  canvas.style.setProperty('background-color', 'Canvas');
  const paper = channels(getComputedStyle(canvas).backgroundColor).slice(0, 3);
  canvas.remove();
  const behind = (element) => {
    if (!element) return paper;
    return over(channels(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.querySelectorAll('main *')].filter(own).map((element) => {
    const back = behind(element);
    const [dark, bright] = [light(over(channels(getComputedStyle(element).color), back)), light(back)].sort((a, b) => a - b);
    return [Number(((bright + 0.05) / (dark + 0.05)).toFixed(2)), element.outerHTML];
  }).filter(([contrast]) => contrast < 4.5);
}

/// What holds for every page; leaves a picture of it
async function shoot(page, name, title, { size, scheme }) {
  assert.equal(await page.locator('h1').innerText(), title, name);
  // The consent page has its buttons after a moment.
  for (const late of await page.locator('.late').all()) await late.waitFor();
  const host = new URL(broker).host;
  assert.equal(await page.locator('.service').innerText(), `Blue at ${host}`, name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide on a ${size}`);
  // Buttons are large enough for a thumb, and nothing is smaller than one can read.
  const small = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll('button')].filter((one) => one.getBoundingClientRect().height < 44);
    const words = [...document.querySelectorAll('main *')].filter((one) => parseFloat(getComputedStyle(one).fontSize) < 13);
    return [...buttons, ...words].map((one) => one.outerHTML);
  });
  assert.deepEqual(small, [], name);
  assert.deepEqual(await page.evaluate(faint), [], name);
  // Button labels are unique, so that users of a screen reader can tell them apart.
  const labels = await page.locator('button').evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.innerText));
  assert.equal(new Set(labels).size, labels.length, `${name}: ${labels}`);
  const bright = await page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).color.match(/\d+/g).map(Number);
    return r + g + b > 384;
  });
  assert.equal(bright, scheme === 'dark', `${name} does not follow the scheme`);
  await page.screenshot({ path: join(pictures, `${name}-${size}-${scheme}.png`), fullPage: true });
}

async function look(size, scheme) {
  const { context, complaints } = await watched(browser, { colorScheme: scheme, ...SIZES[size] });
  const as = { size, scheme };
  const page = await context.newPage();
  const visit = async (url, name, title) => {
    await page.goto(url);
    await shoot(page, name, title, as);
  };
  const desk = await listen();
  const tool = await new Plain(broker, desk.url).register('Notebook');
  const long = await new Plain(broker, `https://${'a-very-long-name.'.repeat(8)}example.org/callback`).register('W'.repeat(70));
  const editor = await new Plain(broker, 'cursor://anysphere.cursor-mcp/oauth/callback').register('Editor');
  const claude = new Plain(broker, 'https://claude.ai/api/mcp/auth_callback');
  claude.id = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
  const copy = await new Plain(broker, 'https://evil.example/cb').register('Claude');
  await visit(broker, 'home', 'Blue connects AI apps to git.example.org');
  await visit(claude.authorize(), 'consent-verified', 'Let Claude use your account at git.example.org?');
  await visit(copy.authorize(), 'consent-unverified', 'Let Claude use your account at git.example.org?');
  await visit(`${broker}/nothing/here`, 'not-found', 'There is no such page');
  const session = await context.newCDPSession(page);
  await session.send('Animation.enable');
  await session.send('Animation.setPlaybackRate', { playbackRate: 0 });
  await page.goto(copy.authorize());
  await page.screenshot({ path: join(pictures, `consent-first-second-${size}-${scheme}.png`), fullPage: true });
  await session.send('Animation.setPlaybackRate', { playbackRate: 1 });
  await session.detach();
  await visit(tool.authorize(), 'consent', 'Let Notebook use your account at git.example.org?');
  await visit(long.authorize(), 'consent-long', `Let ${'W'.repeat(59)}… use your account at git.example.org?`);
  await visit(editor.authorize(), 'consent-app', 'Let Editor use your account at git.example.org?');
  await visit(`${broker}/authorize?client_id=nobody&redirect_uri=https://example.org/`, 'unknown-client', 'This app is not known here');
  const elsewhere = new URL(tool.authorize());
  elsewhere.searchParams.set('redirect_uri', 'https://evil.example/');
  await visit(elsewhere.href, 'wrong-redirect', 'This app asks for the wrong address');
  await visit(`${broker}/oauth/consent?tx=gone`, 'over', 'This sign-in is over');
  await visit(`${broker}/connections`, 'connections-signed-out', 'Your connections');

  const person = { login: 'ann', password: passwords.ann, homes };
  await walk(page, tool.authorize(), person);
  await tool.exchange(await desk.called());
  // A tab that has asked for another program takes no more clicks: it shows a question of its own.
  for (const [answer, name, title] of [['Approve', 'done', 'You are signed in'], ['Deny', 'denied', 'Access was denied']]) {
    const tab = await context.newPage();
    const started = tab.waitForEvent('request', (request) => request.url().startsWith('cursor:'));
    await tab.goto(editor.authorize());
    if (answer === 'Approve') await approve(tab);
    else await tab.getByRole('button', { name: answer }).click();
    const { searchParams: got } = new URL((await started).url());
    assert.equal(got.get('state'), editor.state);
    assert.equal(got.has(answer === 'Approve' ? 'code' : 'error'), true, `${got}`);
    assert.match(await tab.getByRole('link', { name: 'Go back to your app' }).getAttribute('href'), /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?/);
    await shoot(tab, name, title, as);
    if (answer === 'Approve') await editor.exchange(got);
    await tab.close();
  }
  await page.goto(`${broker}/connections`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Signed in as').waitFor();
  for (const name of ['Notebook', 'Editor']) assert.ok(await page.getByRole('heading', { name }).isVisible());
  await shoot(page, 'connections', 'Your connections', as);
  desk.close();
  assert.deepEqual(complaints, [], `${size}, ${scheme}`);
  await context.close();
}

try {
  for (const size of Object.keys(SIZES)) {
    for (const scheme of ['light', 'dark']) await look(size, scheme);
  }
} finally {
  await close();
}
