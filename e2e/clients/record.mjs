// Records what a server answers, as shapes: field names, types, status codes.

import { writeFileSync } from 'node:fs';

/// Values that differ between any two servers, kept only as their type.
const shape = (value) => {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const rows = [...new Set(value.map((v) => JSON.stringify(shape(v))))].sort();
    return rows.map((r) => JSON.parse(r));
  }
  if (typeof value === 'object') {
    return Object.fromEntries(Object.keys(value).sort().map((k) => [k, shape(value[k])]));
  }
  return typeof value;
};

/// Fields whose very value must be the same on every server.
const SAME = new Set([
  'name', 'full_name', 'path', 'type', 'state', 'status', 'context', 'description', 'title', 'body', 'draft',
  'merged', 'encoding', 'content', 'size', 'default_branch', 'private', 'empty', 'archived', 'protected',
  'ref', 'label', 'filename', 'additions', 'deletions', 'changes', 'changed_files', 'login', 'is_admin',
  'required_approvals', 'enable_status_check', 'status_check_contexts', 'total_commits', 'message', 'official',
  'stale', 'dismissed', 'rule_name', 'branch_name', 'permission', 'mode', 'truncated', 'target',
]);

const values = (value, at = '') => {
  const out = {};
  const walk = (v, path, key) => {
    if (Array.isArray(v)) v.forEach((item, i) => walk(item, `${path}[${i}]`, key));
    else if (v && typeof v === 'object') {
      for (const k of Object.keys(v)) {
        // How much disk a repository takes is the server's own business.
        if (k === 'size' && 'default_branch' in v) continue;
        walk(v[k], path ? `${path}.${k}` : k, k);
      }
    }
    else if (SAME.has(key)) out[path] = v;
  };
  walk(value, at, '');
  return out;
};

export class Recorder {
  constructor() {
    this.steps = [];
    this.name = 'start';
  }

  /// A `fetch` that keeps what came back under the current step's name.
  fetch = async (url, init) => {
    const answer = await fetch(url, init);
    const text = await answer.clone().text();
    let body = null;
    let kind = 'empty';
    if (text.length > 0) {
      try {
        body = JSON.parse(text);
        kind = 'json';
      } catch {
        body = null;
        kind = 'text';
      }
    }
    this.steps.push({
      step: this.name,
      status: answer.status,
      kind,
      link: answer.headers.has('link'),
      total: answer.headers.get('x-total-count'),
      shape: shape(body),
      values: values(body),
    });
    return answer;
  };

  /// Do one step; a refusal by the server is a result like any other.
  async step(name, action) {
    this.name = name;
    try {
      const result = await action();
      return result?.data;
    } catch (error) {
      if (error instanceof Response || error?.status !== undefined) return undefined;
      throw new Error(`step ${name}: ${error?.stack ?? error}`);
    }
  }

  save(file) {
    writeFileSync(file, JSON.stringify(this.steps, null, 1));
  }
}
