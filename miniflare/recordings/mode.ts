/** How a session uses its recordings. */

/**
 * `replay`: only recordings answer. `once`: calls without a recording are recorded. `record`: all calls are recorded again. `prune`: as
 * `replay`, and recordings that the tests do not use are removed.
 */
export type RecordingMode = "replay" | "once" | "record" | "prune";

/** Only recordings answer. */
export const isOffline = (mode: RecordingMode): boolean => mode === "replay" || mode === "prune";
