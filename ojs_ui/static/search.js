// Looking for jobs: a look of the server has an end, and the next one goes on behind it.

import { get, segment } from "./api.js";
import { serverNow } from "./clock.js";

const LOOKS = 3;
const SPANS = { s: 1000, m: 60000, h: 3600000, d: 86400000 };
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Return the jobs that a filter matches: as many as are wanted, or those that a few looks find. */
export async function look({ tenant, ...query }, signal) {
  const path = tenant ? `v1/admin/tenants/${segment(tenant)}/jobs` : "v1/admin/jobs";
  const items = [];
  let answer;
  for (let left = LOOKS; left > 0; left -= 1) {
    answer = await get(path, { ...query, cursor: answer?.pagination.next_cursor ?? query.cursor }, signal);
    items.push(...answer.items);
    if (items.length >= query.limit || !answer.pagination.has_more) break;
  }
  const { pagination } = answer;
  const least = items.length + (pagination.has_more ? 1 : 0);
  return { items, pagination: pagination.total_is_exact === false ? { ...pagination, total: Math.max(pagination.total, least) } : pagination };
}

/** Return when the job of an id was made, which the id says; null where it says nothing. */
export function madeAt(id) {
  return ID.test(id ?? "") ? Number.parseInt(id.replace("-", "").slice(0, 12), 16) : null;
}

/** Say whether a text is a whole id. */
export const isId = (text) => ID.test(text);

/** Return a moment as the API takes it: `90m` is so long ago, and all else stays as it is. */
export function moment(text) {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return unit ? new Date(serverNow() - number * SPANS[unit]).toISOString() : text;
}
