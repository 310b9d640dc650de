// What the server claims in its manifest, and what each page needs of it.

import { get } from "./api.js";

const ADMIN = "admin_api";
// The names under which servers claim what a page is about; one of them is enough.
const NEEDS = {
  "": [ADMIN], jobs: [ADMIN], queues: [ADMIN], queue: [ADMIN], scheduled: [ADMIN], workers: [ADMIN], worker: [ADMIN], actions: [ADMIN],
  dead: ["dead_letter"], cron: ["cron", "cron_jobs"], workflows: ["workflows"], workflow: ["workflows"], events: ["events"],
  limits: ["rate_limiting"], schemas: ["schema_validation"], tenants: ["multi_tenancy"], pools: ["fair_scheduling"], webhooks: ["webhooks"],
};
// Null as long as it is not known: then everything may be tried.
let claimed = null;
let learned;
const known = new Promise((resolve) => { learned = resolve; });

/** Take note of a manifest; null where there is none. */
export async function learn(manifest) {
  const { capabilities } = manifest ?? {};
  if (capabilities) claimed = { ...capabilities, [ADMIN]: capabilities[ADMIN] ?? await hasAdmin() };
  learned();
}

// The published manifest has no word for it.
async function hasAdmin() {
  return get("v1/admin/stats").then(() => true, (error) => error.status !== 404);
}

/** Say whether the server claims something. */
export function claims(name) {
  return claimed === null || Boolean(claimed[name]);
}

/** Say whether the server claims what a page needs, as far as that is known. */
export function offers(page) {
  const needs = NEEDS[page];
  return needs === undefined || needs.some(claims);
}

/** Say the same once the manifest has been read. */
export async function surelyOffers(page) {
  await known;
  return offers(page);
}
