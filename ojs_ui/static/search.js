// Search for jobs: each call reads a limited number of jobs, and the next call goes on behind them.

import { get, segment } from "./api.js";
import { serverNow } from "./clock.js";

const MOST_CALLS = 3;
const SPANS = { s: 1000, m: 60000, h: 3600000, d: 86400000 };
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Return jobs that a filter matches, up to the limit, or as many as a few calls find. */
export async function look({ tenant, ...query }, signal, calls = MOST_CALLS) {
  const path = tenant ? `v1/admin/tenants/${segment(tenant)}/jobs` : "v1/admin/jobs";
  const items = [];
  let answer;
  for (let left = calls; left > 0; left -= 1) {
    answer = await get(path, { ...query, cursor: answer?.pagination.next_cursor ?? query.cursor }, signal);
    items.push(...answer.items);
    if (items.length >= query.limit || !answer.pagination.has_more) break;
  }
  const { pagination } = answer;
  const least = items.length + (pagination.has_more ? 1 : 0);
  return { items, pagination: pagination.total_is_exact === false ? { ...pagination, total: Math.max(pagination.total, least) } : pagination };
}

/** Return the time at which a job was made, from its id; null if the id has none. */
export function madeAt(id) {
  return ID.test(id ?? "") ? Number.parseInt(id.replace("-", "").slice(0, 12), 16) : null;
}

/** Return true if a text is a whole id. */
export const isId = (text) => ID.test(text);

/** Return a moment as the API takes it: `90m` becomes the time 90 minutes ago. */
export function moment(text) {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return unit ? new Date(serverNow() - number * SPANS[unit]).toISOString() : text;
}
