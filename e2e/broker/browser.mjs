// Chromium as people have it, and a person in front of it

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const PATIENCE = 60_000;

/// Start it by hand: Playwright's own way turns things off that people have, as the cache of Back
export async function launch(program) {
  const profile = mkdtempSync(join(tmpdir(), 'blue-chromium-'));
  const process = spawn(program, [
    '--headless=new', '--no-sandbox', '--remote-debugging-port=0', `--user-data-dir=${profile}`,
    '--no-first-run', '--disable-gpu', '--disable-quic', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--no-proxy-server', '--disable-dev-shm-usage', 'about:blank',
  ], { stdio: ['ignore', 'ignore', 'pipe'] });
  const address = await new Promise((resolve, reject) => {
    const lines = [];
    process.once('error', reject);
    process.once('exit', (code) => reject(new Error(`chromium ended with ${code}:\n${lines.join('\n')}`)));
    createInterface({ input: process.stderr }).on('line', (line) => {
      lines.push(line);
      const found = line.match(/^DevTools listening on (ws:\S+)/);
      if (found) resolve(found[1]);
    });
  });
  process.removeAllListeners('exit');
  const browser = await chromium.connectOverCDP(address);
  const close = async () => {
    const gone = new Promise((resolve) => { process.once('exit', resolve); });
    const session = await browser.newBrowserCDPSession();
    const late = setTimeout(() => process.kill('SIGKILL'), 5000);
    await session.send('Browser.close').catch(() => {});
    await gone;
    clearTimeout(late);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  return { browser, close };
}

/// A browser of its own, in which nothing may go wrong unseen
export async function watched(browser, options) {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const complaints = [];
  context.on('console', (message) => {
    const text = message.text();
    // A page that says what is wrong has a status that says so too.
    if (message.type() === 'error' && !/^Failed to load resource: .* status of 4\d\d/.test(text)) complaints.push(text);
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  return { context, complaints };
}

/// What a person can do on pages of broker and forge on the way from one to the other
const STEPS = {
  consent: 'form[action="/oauth/consent"] button[value=approve]',
  login: 'form[action*="/user/login"] input[name=password]',
  grant: '#authorize-app',
};

/// Follows `url` until it leaves the origins in `homes`; returns that address and the steps it took
export async function walk(page, url, { login, password, homes, until }) {
  const away = (now) => /^https?:/.test(now.href) && !homes.includes(now.origin);
  const landed = until ?? away;
  const steps = [];
  await page.goto(url, { timeout: PATIENCE });
  const any = page.locator(Object.values(STEPS).join(', ')).first();
  for (;;) {
    const arrived = page.waitForURL((now) => landed(now), { timeout: PATIENCE, waitUntil: 'load' }).then(() => true);
    const asked = any.waitFor({ timeout: PATIENCE }).then(() => false);
    arrived.catch(() => {});
    asked.catch(() => {});
    let done;
    try {
      done = await Promise.race([arrived, asked]);
    } catch (error) {
      const text = await page.locator('body').innerText().catch(() => '');
      throw new Error(`stopped at ${page.url()} after ${steps}: ${error.message}\n${text}`);
    }
    if (done || landed(new URL(page.url()))) return { url: page.url(), steps };
    assert.ok(steps.length < 6, `${page.url()}: no end after ${steps}`);
    steps.push(await step(page, { login, password }));
  }
}

/// Approve on the consent page, as a user does: once its controls are there, and with the box where there is one
export async function approve(page) {
  const form = page.locator('form[action="/oauth/consent"]');
  const button = form.locator('button[value=approve]');
  await button.waitFor({ timeout: PATIENCE });
  const box = form.locator('input[type=checkbox]');
  if (await box.count() > 0) await box.check();
  await button.click();
}

async function step(page, { login, password }) {
  for (const [name, selector] of Object.entries(STEPS)) {
    const element = await page.$(selector);
    if (!element) continue;
    if (name === 'login') {
      await page.fill('input[name=user_name]', login);
      await element.fill(password);
      await element.press('Enter');
    } else if (name === 'consent') {
      await approve(page);
    } else {
      await element.click();
    }
    // The page is gone, or at least the thing that was used.
    await element.waitForElementState('hidden').catch(() => {});
    return name;
  }
  return 'nothing';
}
