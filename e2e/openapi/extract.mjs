// Cut the operations named in operations.txt out of GitHub's OpenAPI description.
//
//   node extract.mjs DESCRIPTION.json > EXTRACT.json
//
// Schemas become JSON Schema 2020-12 (`nullable` spelled out, `$ref` into `$defs`); prose goes.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const source = process.argv[2];
if (!source) {
  console.error("usage: node extract.mjs DESCRIPTION.json > EXTRACT.json");
  process.exit(2);
}

const description = JSON.parse(readFileSync(source, "utf8"));
const wanted = readFileSync(join(here, "operations.txt"), "utf8")
  .split("\n")
  .map((line) => line.trim())
  .filter((line) => line && !line.startsWith("#"));

/** Keywords that say something about a value; all others are prose or belong to other tools */
const PLAIN = new Set([
  "type", "format", "enum", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
  "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
  "pattern", "multipleOf", "const",
]);
const LISTS = new Set(["oneOf", "anyOf", "allOf"]);
const SINGLE = new Set(["items", "not", "additionalProperties"]);

const defs = {};
const queue = [];

function local(ref) {
  return ref.split("/").slice(1).reduce((at, key) => at[key.replace("~1", "/").replace("~0", "~")], description);
}

/** Follow a `$ref` of anything but a schema */
function deref(value) {
  return value && value.$ref ? deref(local(value.$ref)) : value;
}

function schema(from) {
  if (from === true || from === false) return from;
  if (from.$ref) {
    const name = from.$ref.replace("#/components/schemas/", "");
    if (!(name in defs)) {
      defs[name] = null;
      queue.push(name);
    }
    return { $ref: `#/$defs/${name}` };
  }
  const to = {};
  for (const [key, value] of Object.entries(from)) {
    if (PLAIN.has(key)) to[key] = value;
    // `oneOf` in the description is "one of these at least": its refusals fit more than one shape.
    else if (LISTS.has(key)) to[key === "oneOf" ? "anyOf" : key] = value.map(schema);
    else if (SINGLE.has(key)) to[key] = typeof value === "object" ? schema(value) : value;
    else if (key === "properties") {
      to.properties = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, schema(inner)]));
    }
  }
  return from.nullable ? orNull(to) : to;
}

function orNull(to) {
  if (to.enum && !to.enum.includes(null)) to.enum = [...to.enum, null];
  if (typeof to.type === "string") to.type = [to.type, "null"];
  if (to.anyOf || to.allOf) return { anyOf: [to, { type: "null" }] };
  return to;
}

/** What is JSON among the kinds of content; a body of another kind has no schema that could be checked */
function content(of) {
  const kinds = Object.entries(of?.content ?? {}).filter(([kind]) => /json|vnd\.github\.object/.test(kind));
  if (kinds.length === 0) return undefined;
  const main = Object.fromEntries(kinds)["application/json"] ?? kinds[0][1];
  const schemas = kinds.map(([, { schema }]) => schema).filter(Boolean);
  const differ = new Set(schemas.map((one) => JSON.stringify(one))).size > 1;
  const examples = Object.assign({}, ...kinds.map(([, { examples }]) => examples));
  return { ...main, examples, schema: differ ? { anyOf: schemas } : main.schema };
}

function response(of) {
  of = deref(of);
  const json = content(of);
  const to = {};
  if (json?.schema) to.schema = schema(json.schema);
  const examples = Object.values(json?.examples ?? {})
    .map((example) => deref(example).value)
    .filter((value) => value !== undefined);
  if (json?.example !== undefined) examples.push(json.example);
  const seen = new Set();
  const fresh = (value) => !seen.has(JSON.stringify(value)) && seen.add(JSON.stringify(value));
  if (examples.length) to.examples = examples.filter(fresh);
  return to;
}

function parameter(of) {
  of = deref(of);
  const to = { name: of.name, in: of.in, schema: schema(of.schema) };
  if (of.required) to.required = true;
  if (of["x-multi-segment"]) to.multi_segment = true;
  return to;
}

const operations = [];
for (const [path, item] of Object.entries(description.paths)) {
  for (const [method, operation] of Object.entries(item)) {
    if (!wanted.includes(operation.operationId)) continue;
    const to = { id: operation.operationId, method: method.toUpperCase(), path };
    to.parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(parameter);
    const body = deref(operation.requestBody);
    if (body) to.body = { required: body.required ?? false, schema: schema(content(body).schema) };
    to.responses = Object.fromEntries(
      Object.entries(operation.responses).map(([status, answer]) => [status, response(answer)]),
    );
    operations.push(to);
  }
}
const missing = wanted.filter((id) => !operations.some((operation) => operation.id === id));
if (missing.length) {
  console.error(`the description has no operation ${missing.join(", ")}`);
  process.exit(1);
}
while (queue.length) {
  const name = queue.shift();
  defs[name] = schema(description.components.schemas[name]);
}

// One operation and one schema a line: a new version of the description can be read as a diff.
const lines = (entries) => entries.join(",\n");
console.log(`{
"source": "npm @octokit/openapi, generated/api.github.com.json (MIT)",
"version": ${JSON.stringify(description.info.version)},
"operations": [
${lines(operations.map((operation) => JSON.stringify(operation)))}
],
"$defs": {
${lines(Object.keys(defs).sort().map((name) => `${JSON.stringify(name)}: ${JSON.stringify(defs[name])}`))}
}
}`);
