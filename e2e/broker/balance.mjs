// Give the requests of one port to several servers by turns: balance.mjs PORT TARGET…
//
// No two requests in a row go to the same one: nothing that a server keeps to itself can help the next.

import http from 'node:http';

const [port, ...targets] = process.argv.slice(2);
let turn = 0;

http.createServer((request, answer) => {
  const target = new URL(targets[turn++ % targets.length]);
  const { method, url: path, headers } = request;
  const passed = http.request({ host: target.hostname, port: target.port, method, path, headers }, (got) => {
    answer.writeHead(got.statusCode, got.rawHeaders);
    got.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  request.pipe(passed);
}).listen(Number(port), '127.0.0.1', () => console.log(port));
