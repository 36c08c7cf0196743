// People in front of browsers, for clients that open one: robot.mjs CHROMIUM HOMES PEOPLE
//
// Prints its address. `POST /visit?person=LOGIN` with an address as its body is answered at once,
// and then that person, in a browser of their own, says yes wherever they are asked.

import { createServer } from 'node:http';
import { launch, walk } from './browser.mjs';

const [program, homes, secrets] = process.argv.slice(2);
const origins = JSON.parse(homes);
const passwords = JSON.parse(secrets);
const { browser, close } = await launch(program);
const people = new Map();

/// People do one thing after the other; and at each broker they have another browser, because
/// cookies do not know of ports
function visit(login, url) {
  const whose = `${login} ${new URL(url).origin}`;
  // The authority of a test is one that no browser knows.
  const context = () => browser.newContext({ ignoreHTTPSErrors: true });
  if (!people.has(whose)) people.set(whose, { context: context(), busy: Promise.resolve() });
  const person = people.get(whose);
  person.busy = person.busy.then(() => open(login, person.context, url)).catch((error) => {
    console.error(`${login}: ${error.stack}`);
  });
}

async function open(login, context, url) {
  const page = await (await context).newPage();
  try {
    const { steps } = await walk(page, url, { login, password: passwords[login], homes: origins });
    console.error(`${login}: ${steps.join(', ')}`);
  } finally {
    await page.close();
  }
}

const server = createServer(async (request, response) => {
  let url = '';
  for await (const part of request) url += part;
  const login = new URL(request.url, 'http://robot').searchParams.get('person');
  response.writeHead(202).end();
  visit(login, url.trim());
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', async () => {
  await close();
  process.exit(0);
});
