// Server-sent events read by fetch, since EventSource cannot send a key.

import { open } from "./api.js";

/** Call `each(event, data, id)` for every event of a stream, until it ends or the signal aborts.
 * A comment, which the server sends when nothing happens, is passed as the event "". */
export async function follow(path, { query, signal, lastId, opened, each }) {
  // With a version, statistics are numbers.
  const headers = { Accept: "text/event-stream", "OJS-Version": "1.0" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const answer = await open("GET", path, { query, signal, headers });
  opened?.();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = "message";
  let id = null;
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const full of lines) {
      const line = full.endsWith("\r") ? full.slice(0, -1) : full;
      if (line === "") {
        if (data.length) each(event, data.join("\n"), id);
        event = "message";
        data = [];
      } else if (line.startsWith(":")) each("", "", id);
      else {
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "event") event = text;
        else if (name === "data") data.push(text);
        else if (name === "id") id = text;
      }
    }
  }
}

/** Follow a stream, and reconnect after every end, with longer pauses while it fails; `status` is called with the state. */
export async function keepFollowing(path, { query, signal, status, each }) {
  let failures = 0;
  let lastId = null;
  while (!signal.aborted) {
    try {
      await follow(path, {
        query, signal, lastId,
        opened: () => { failures = 0; status?.("live"); },
        each: (event, data, id) => { lastId = id ?? lastId; each(event, data); },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    }
    if (signal.aborted) return;
    status?.("reconnecting");
    failures += 1;
    await pause(Math.min(500 * 2 ** Math.min(failures, 5), 10000), signal);
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
