// The server's time, by the median of the dates of its last responses, so that ages are never
// negative because of the reader's clock.

const offsets = [];

/** Note the Date header of a response that has just arrived. */
export function noteDate(date) {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  // The header has whole seconds.
  offsets.push(at + 500 - Date.now());
  if (offsets.length > 5) offsets.shift();
}

/** Return the difference of the server's clock to the reader's. */
export function offset() {
  const sorted = [...offsets].sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] ?? 0;
  // A smaller difference is the rounding of the header.
  return Math.abs(middle) < 1500 ? 0 : middle;
}

/** Return the present moment by the server's clock. */
export function serverNow() {
  return Date.now() + offset();
}
