// The person takes the permission back at the forge itself: reconnect.mjs CHROMIUM BROKER FORGE PEOPLE PICTURES
//
// Their client is refused, also when it refreshes; the page says what to do, and after that all is well.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, walk, watched } from './browser.mjs';
import { Plain, listen } from './client.mjs';

const [program, broker, forge, people, pictures] = process.argv.slice(2);
const person = { login: 'ann', password: JSON.parse(people).ann, homes: [broker, forge] };
mkdirSync(pictures, { recursive: true });

const { browser, close } = await launch(program);
try {
  const { context, complaints } = await watched(browser);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const at = await listen();
  const client = await new Plain(broker, at.url).register('Notebook');
  await walk(page, client.authorize(), person);
  const tokens = await client.exchange(await at.called());
  assert.equal(await client.opens(tokens.access_token), 200);
  await page.goto(`${broker}/connections`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Notebook' }).waitFor();

  // The address that the page names, and there the way to take it back
  const settings = await page.getByRole('link', { name: 'Settings' }).getAttribute('href');
  assert.ok(settings.startsWith(forge), settings);
  await page.goto(settings);
  // Others may have a permission, too; they are done with it.
  const revoke = await page.evaluate(() => [...document.documentElement.innerHTML.matchAll(/\/user\/settings\/applications\/oauth2\/\d+\/revoke\/\d+/g)].map(([path]) => path));
  assert.ok(revoke.length > 0, 'the forge lists the permission');
  for (const path of new Set(revoke)) {
    assert.equal(await page.evaluate(async (to) => (await fetch(to, { method: 'POST' })).status, path), 200);
  }

  const deadline = Date.now() + 20_000;
  while (await client.opens(tokens.access_token) !== 401) {
    assert.ok(Date.now() < deadline, 'the token still opens the door');
    await new Promise((done) => { setTimeout(done, 300); });
  }
  // A refresh that worked would send the client in a circle.
  const refresh = await fetch(`${broker}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: client.id }),
  });
  assert.deepEqual([refresh.status, (await refresh.json()).error], [400, 'invalid_grant']);

  await page.goto(`${broker}/connections`);
  await page.getByText('no longer accepts this sign-in').waitFor();
  for (const [size, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 360, height: 740 }]]) {
    await page.setViewportSize(viewport);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${wide} px too wide on a ${size}`);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(pictures, `reconnect-${size}-${colorScheme}.png`), fullPage: true });
    }
  }
  await page.getByRole('button', { name: 'Sign in again' }).click();
  await page.locator('#authorize-app').click();
  await page.getByRole('heading', { name: 'Your connections' }).waitFor();
  assert.equal(await page.getByText('no longer accepts this sign-in').count(), 0);

  // The connection itself was never ended: its tokens are good again.
  assert.equal(await client.opens(tokens.access_token), 200);
  at.close();
  assert.deepEqual(complaints.filter((text) => text.includes(broker)), []);
} finally {
  await close();
}
