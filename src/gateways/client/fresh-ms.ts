/** How long an isolate uses its copies of settings, keys and routes. Milliseconds. */
export const FRESH_MS = 5_000;
