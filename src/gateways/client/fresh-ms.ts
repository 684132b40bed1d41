/** How long an isolate uses its copies of settings, keys, routes and cached answers. Milliseconds. */
export const FRESH_MS = 5_000;
