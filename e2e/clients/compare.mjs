// Compares two recordings field by field: node compare.mjs REAL OURS
// Exit 1 with one line per difference.

import { readFileSync } from 'node:fs';

const [real, ours] = process.argv.slice(2).map((f) => JSON.parse(readFileSync(f)));

/// Differences that are the servers' own business: which files they can show and where they live.
const ALLOWED = new Map([
  // Counts what else is on the server.
  ['list own repos', ['total']],
]);

/// Ids inside messages, which no two servers share.
const plain = (v) => (typeof v === 'string' ? v.replace(/\b(id|issue_id|head_repo_id|base_repo_id|repo_id): \d+/g, '$1: N').replace(/[0-9a-f]{40}/g, 'SHA') : v);

const differences = [];
const differ = (step, what) => differences.push(`${step}: ${what}`);

const shapes = (step, a, b, path = '') => {
  if (JSON.stringify(a) === JSON.stringify(b)) return;
  const at = path || 'the answer';
  if (typeof a !== typeof b || Array.isArray(a) !== Array.isArray(b) || typeof a === 'string') {
    return differ(step, `${at} is ${JSON.stringify(a).slice(0, 60)} there, ${JSON.stringify(b)?.slice(0, 60)} here`);
  }
  if (Array.isArray(a)) {
    if (a.length !== b.length) return differ(step, `${at} has ${a.length} kinds of rows there, ${b.length} here`);
    return a.forEach((row, i) => shapes(step, row, b[i], `${path}[]`));
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const where = path ? `${path}.${key}` : key;
    if (!(key in b)) differ(step, `${where} is missing here`);
    else if (!(key in a)) differ(step, `${where} is only here`);
    else shapes(step, a[key], b[key], where);
  }
};

const names = (list) => list.map((s) => s.step);
if (names(real).join('\n') !== names(ours).join('\n')) differ('tour', 'the steps are not the same');
for (const [i, a] of real.entries()) {
  const b = ours[i];
  if (!b) break;
  const allowed = ALLOWED.get(a.step) ?? [];
  for (const field of ['status', 'kind', 'link', 'total']) {
    if (a[field] !== b[field] && !allowed.includes(field)) differ(a.step, `${field} is ${a[field]} there, ${b[field]} here`);
  }
  shapes(a.step, a.shape, b.shape);
  for (const key of Object.keys(a.values)) {
    if (key in b.values && plain(a.values[key]) !== plain(b.values[key]) && !allowed.includes(key)) {
      differ(a.step, `${key} is ${JSON.stringify(plain(a.values[key]))} there, ${JSON.stringify(plain(b.values[key]))} here`);
    }
  }
}

for (const line of differences) console.log(line);
console.log(`${real.length} answers compared, ${differences.length} differences`);
process.exit(differences.length === 0 ? 0 : 1);
