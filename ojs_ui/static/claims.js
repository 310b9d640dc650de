// The capabilities in the manifest of the server, and those that each page needs.

import { get } from "./api.js";

const ADMIN = "admin_api";
// The capabilities that a page needs; one of them is enough, as servers use several names.
const NEEDS = {
  "": [ADMIN], jobs: [ADMIN], queues: [ADMIN], queue: [ADMIN], scheduled: [ADMIN], workers: [ADMIN], worker: [ADMIN], actions: [ADMIN],
  dead: ["dead_letter"], cron: ["cron", "cron_jobs"], workflows: ["workflows"], workflow: ["workflows"], events: ["events"],
  limits: ["rate_limiting"], schemas: ["schema_validation"], tenants: ["multi_tenancy"], pools: ["fair_scheduling"], webhooks: ["webhooks"],
};
// The capabilities; null until the manifest has been read. Then every page may be tried.
let claimed = null;
let details = {};
let learned;
const known = new Promise((resolve) => { learned = resolve; });

/** Keep the capabilities of a manifest; null if there is none. */
export async function learn(manifest) {
  const { capabilities, extensions_detail: found } = manifest ?? {};
  details = found ?? {};
  if (capabilities) claimed = { ...capabilities, [ADMIN]: capabilities[ADMIN] ?? await hasAdmin() };
  learned();
}

// The published manifest has no name for the admin API.
async function hasAdmin() {
  return get("v1/admin/stats").then(() => true, (error) => error.status !== 404);
}

/** Return true if the server claims a capability, or none are known. */
export function claims(name) {
  return claimed === null || Boolean(claimed[name]);
}

/** Return what the manifest says about an extension; undefined if nothing. */
export const detail = (extension) => details[extension];

/** Return true if the server claims what a page needs, or no capabilities are known. */
export function offers(page) {
  const needs = NEEDS[page];
  return needs === undefined || needs.some(claims);
}

/** Return `offers` once the manifest has been read. */
export async function surelyOffers(page) {
  await known;
  return offers(page);
}
