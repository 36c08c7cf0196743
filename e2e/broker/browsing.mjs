// What people and strangers do with a browser: browsing.mjs CHROMIUM BROKER FORGE PEOPLE

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { approve, launch, walk, watched } from './browser.mjs';
import { Plain, listen } from './client.mjs';

const [program, broker, forge, people] = process.argv.slice(2);
const passwords = JSON.parse(people);
const homes = [broker, forge];
const ann = { login: 'ann', password: passwords.ann, homes };
const button = (page) => page.getByRole('button', { name: 'Approve' });
/// Whether a page asks at all, also while its buttons cannot be used yet
const asks = async (page) => (await page.locator('button[value=approve]').count()) > 0;
/// A client whose description the broker brings along: it is verified, so there is no box
const VERIFIED = 'https://claude.ai/oauth/claude-code-client-metadata';

/// A client on this computer, under a name of its own
async function desk(host, name) {
  const at = await listen(host);
  const client = await new Plain(broker, at.url).register(name);
  return { at, client };
}

/// A plain client with the id of a verified one
async function verified() {
  const at = await listen('127.0.0.1');
  const client = new Plain(broker, at.url);
  client.id = VERIFIED;
  return { at, client };
}

async function middle(element) {
  const box = await element.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/// Stop the animations of a page, so that its first moment lasts; gives what lets them go on
async function freeze(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Animation.enable');
  await session.send('Animation.setPlaybackRate', { playbackRate: 0 });
  return async () => {
    await session.send('Animation.setPlaybackRate', { playbackRate: 1 });
    await session.detach();
  };
}

/// Count the answers that a page posts
function answers(page) {
  const posts = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/oauth/consent')) posts.push(request.postData());
  });
  return posts;
}

/// What has the focus, after pressing Tab so often
async function tabbed(page, times) {
  const seen = [];
  for (let turn = 0; turn < times; turn += 1) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.value ?? ''}`.trim()));
  }
  return seen;
}

const cases = {
  async 'every spelling of this computer is reached'({ context }) {
    const page = await context.newPage();
    for (const host of ['127.0.0.1', 'localhost', '::1']) {
      const { at, client } = await desk(host, `At ${host}`);
      const { url } = await walk(page, client.authorize(), ann);
      assert.ok(url.startsWith(at.url), url);
      const tokens = await client.exchange(await at.called());
      assert.equal(await client.opens(tokens.access_token), 200);
      at.close();
    }
  },

  async 'a second press of the button changes nothing'({ context }) {
    const { at, client } = await desk('127.0.0.1', 'Twice');
    const page = await context.newPage();
    let posts = 0;
    // The answer takes its time, so that there is a page to press the button on.
    await page.route('**/oauth/consent', async (route) => {
      if (route.request().method() === 'POST') {
        posts += 1;
        await new Promise((done) => { setTimeout(done, 600); });
      }
      await route.continue();
    });
    await page.goto(client.authorize());
    await button(page).waitFor();
    await page.getByRole('checkbox').check();
    const [x, y] = await middle(button(page));
    await page.mouse.click(x, y);
    await new Promise((done) => { setTimeout(done, 150); });
    await page.mouse.click(x, y);
    // The first of the two was called off by the browser itself.
    await at.called();
    await page.waitForFunction(() => document.title === 'Client');
    assert.equal(posts, 2, 'the form was sent twice');
    assert.equal(at.calls.length, 1, 'the client is called once');
    await client.exchange(await at.called());
    at.close();
  },

  async 'a double click that began on another site approves nothing'({ browser }) {
    for (const reducedMotion of ['no-preference', 'reduce']) {
      const { context, complaints } = await watched(browser, { reducedMotion });
      const { at, client } = await verified();
      const page = await context.newPage();
      const posts = answers(page);
      await page.goto(client.authorize());
      await button(page).waitFor();
      const [x, y] = await middle(button(page));
      // The delay is the same for all, and ends by itself.
      const delays = await page.evaluate(() => {
        const [button] = document.querySelectorAll('button');
        const style = getComputedStyle(button);
        return [style.animationDuration, style.animationIterationCount, style.animationFillMode, style.visibility];
      });
      assert.deepEqual(delays, ['1s', '1', 'none', 'visible'], reducedMotion);
      // The other site leads here at the first of two clicks, where the button will be.
      const evil = createServer((_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        const to = client.authorize().replaceAll('&', '&amp;');
        response.end(`<link rel=icon href="data:,"><a href="${to}" style="position:fixed;inset:0">Double click to win</a>`);
      });
      await new Promise((done) => { evil.listen(0, '127.0.0.1', done); });
      const thaw = await freeze(page);
      await page.goto(`http://127.0.0.1:${evil.address().port}/`);
      await page.mouse.click(x, y);
      await page.waitForURL((now) => now.pathname === '/oauth/consent');
      await page.locator('h1').waitFor();
      for (let turn = 0; turn < 3; turn += 1) await page.mouse.dblclick(x, y);
      assert.ok(await button(page).isHidden(), 'the button has not come yet');
      assert.deepEqual(posts, [], reducedMotion);
      await thaw();
      await button(page).waitFor();
      // The forge's own pages follow, or the client at once.
      await walk(page, page.url(), ann);
      await client.exchange(await at.called());
      assert.equal(posts.length, 1);
      assert.deepEqual(complaints, []);
      evil.closeAllConnections();
      evil.close();
      at.close();
      await context.close();
    }
  },

  async 'keys that were meant for another site approve nothing'({ context }) {
    for (const { at, client } of [await verified(), await desk('127.0.0.1', 'Keys')]) {
      const page = await context.newPage();
      const posts = answers(page);
      const thaw = await freeze(page);
      await page.goto(client.authorize());
      await page.locator('h1').waitFor();
      const seen = await tabbed(page, 4);
      assert.ok(seen.every((one) => /^(A|BODY)$/.test(one)), `${seen}`);
      await page.evaluate(() => document.activeElement.blur());
      for (const key of ['Enter', 'Space', 'Enter']) await page.keyboard.press(key);
      assert.deepEqual(posts, []);
      assert.ok(page.url().includes('/oauth/consent'), page.url());
      await thaw();
      await button(page).waitFor();
      at.close();
      await page.close();
    }
  },

  async 'the keyboard alone is enough'({ context }) {
    for (const { at, client } of [await verified(), await desk('127.0.0.1', 'Keyboard')]) {
      const page = await context.newPage();
      const posts = answers(page);
      await page.goto(client.authorize());
      await button(page).waitFor();
      if (client.id !== VERIFIED) {
        // Enter would send the form, and the browser says what is missing.
        assert.deepEqual(await tabbed(page, 1), ['INPUT on']);
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.querySelector('form').checkValidity()), false);
        assert.deepEqual(posts, []);
        await page.keyboard.press('Space');
      }
      assert.deepEqual(await tabbed(page, 1), ['BUTTON approve']);
      await page.keyboard.press('Enter');
      await page.waitForURL((now) => now.href.startsWith(at.url));
      await client.exchange(await at.called());
      assert.equal(posts.length, 1);
      at.close();
      await page.close();
    }
  },

  async 'an unverified app needs the box, and a no does not'({ context }) {
    const { at, client } = await desk('127.0.0.1', 'Unverified');
    const page = await context.newPage();
    const posts = answers(page);
    await page.goto(client.authorize());
    await button(page).click();
    assert.equal(await page.evaluate(() => document.querySelector('input[type=checkbox]').matches(':invalid')), true);
    assert.deepEqual(posts, []);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL((now) => now.href.startsWith(at.url));
    assert.equal((await at.called()).get('error'), 'access_denied');
    at.close();
  },

  async 'Back after the answer shows that it was given'({ context }) {
    const { at, client } = await desk('127.0.0.1', 'Back');
    const page = await context.newPage();
    await page.goto(client.authorize());
    await approve(page);
    await page.waitForURL((now) => now.href.startsWith(at.url));
    await client.exchange(await at.called());
    await page.goBack();
    assert.equal(await page.locator('h1').innerText(), 'Already answered');
    assert.equal(await asks(page), false);
    await page.getByRole('link', { name: 'Go on from there' }).click();
    await page.getByRole('heading', { name: 'This sign-in is finished' }).waitFor();
    assert.equal(at.calls.length, 1, 'a used code does not come to the client again');
    at.close();
  },

  async 'two tabs do not end each other'({ context }) {
    const both = await Promise.all([desk('127.0.0.1', 'Left'), desk('127.0.0.1', 'Right')]);
    const tabs = await Promise.all(both.map(() => context.newPage()));
    await Promise.all(tabs.map((tab, index) => tab.goto(both[index].client.authorize())));
    // The second first.
    for (const index of [1, 0]) {
      const { at, client } = both[index];
      await approve(tabs[index]);
      await tabs[index].waitForURL((now) => now.href.startsWith(at.url));
      await client.exchange(await at.called());
      at.close();
    }
  },

  async 'a no is told to the client'({ context }) {
    const { at, client } = await desk('127.0.0.1', 'No');
    const page = await context.newPage();
    await page.goto(client.authorize());
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL((now) => now.href.startsWith(at.url));
    const answer = await at.called();
    assert.deepEqual([answer.get('error'), answer.get('state'), answer.get('iss'), answer.get('code')],
      ['access_denied', client.state, broker, null]);
    at.close();
  },

  async 'the page of somebody else cannot be answered'({ context, other }) {
    const { at, client } = await desk('127.0.0.1', 'Sent by mail');
    const page = await context.newPage();
    await page.goto(client.authorize());
    const stranger = await other.newPage();
    await stranger.goto(page.url());
    assert.equal(await stranger.locator('h1').innerText(), 'This sign-in belongs to another browser');
    assert.equal(await asks(stranger), false);
    at.close();
  },

  async 'a form of another site is refused, though it knows all'({ context }) {
    const { at, client } = await desk('127.0.0.1', 'Forged');
    const page = await context.newPage();
    await page.goto(client.authorize());
    const fields = await page.locator('input[type=hidden]').evaluateAll((all) => all.map((one) => [one.name, one.value]));
    const inputs = [...fields, ['answer', 'approve']].map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
    const evil = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<link rel=icon href="data:,"><form method=post action="${broker}/oauth/consent">${inputs}<button>Win</button></form>`);
    });
    // The same host on another port has all the cookies.
    await new Promise((done) => { evil.listen(0, '127.0.0.1', done); });
    const trap = await context.newPage();
    await trap.goto(`http://127.0.0.1:${evil.address().port}/`);
    await trap.getByRole('button', { name: 'Win' }).click();
    await trap.waitForURL((now) => now.origin === broker);
    assert.equal(await trap.locator('h1').innerText(), 'This was not sent from our page');
    await page.reload();
    assert.equal(await asks(page), true, 'nothing was answered');
    evil.closeAllConnections();
    evil.close();
    at.close();
  },

  async 'the page is shown in no frame'({ context, complaints }) {
    const { at, client } = await desk('127.0.0.1', 'Framed');
    const site = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<link rel=icon href="data:,"><iframe src="${client.authorize().replaceAll('&', '&amp;')}"></iframe>`);
    });
    await new Promise((done) => { site.listen(0, '127.0.0.1', done); });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    const [, frame] = page.frames();
    await frame.waitForLoadState();
    assert.equal(await frame.locator('button').count(), 0, await frame.content());
    assert.ok(complaints.splice(0).some((text) => text.includes("frame-ancestors 'none'")), 'the browser says why');
    site.closeAllConnections();
    site.close();
    at.close();
  },

  async 'people end what they allowed'({ context }) {
    const two = [await desk('127.0.0.1', 'First'), await desk('127.0.0.1', 'Second')];
    const page = await context.newPage();
    const tokens = [];
    for (const { at, client } of two) {
      await walk(page, client.authorize(), ann);
      tokens.push((await client.exchange(await at.called())).access_token);
      at.close();
    }
    const [{ client }] = two;
    await page.goto(`${broker}/connections`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const card = (name) => page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true }) });
    await card('First').getByRole('button', { name: 'Disconnect' }).click();
    await card('First').waitFor({ state: 'detached' });
    assert.deepEqual(await Promise.all(tokens.map((token) => client.opens(token))), [401, 200]);
    await page.getByRole('button', { name: 'Disconnect all' }).click();
    await page.getByText('No app is connected').waitFor();
    assert.equal(await client.opens(tokens[1]), 401);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  },
};

const { browser, close } = await launch(program);
let failed = 0;
try {
  // One person throughout: after the first case the forge asks nothing any more.
  const { context, complaints } = await watched(browser);
  const { context: other } = await watched(browser);
  context.setDefaultTimeout(20_000);
  other.setDefaultTimeout(20_000);
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run({ browser, context, other, complaints });
      assert.deepEqual(complaints.splice(0), []);
      console.log(`ok: ${name}`);
    } catch (error) {
      failed += 1;
      console.error(`failed: ${name}: ${error.stack}`);
    }
    for (const page of context.pages()) await page.close();
  }
} finally {
  await close();
}
process.exit(failed > 0 ? 1 : 0);
