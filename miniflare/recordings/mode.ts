/** How a session uses its recordings. */

/**
 * `replay`: only recordings answer. `strict`: as `replay`, and a file of tests fails if a recording is unused. `once`: calls without a
 * recording are recorded. `record`: all calls are recorded again. `prune`: as `replay`, and recordings that the tests do not use are removed.
 */
export type RecordingMode = "replay" | "strict" | "once" | "record" | "prune";

/** Only recordings answer. */
export const isOffline = (mode: RecordingMode): boolean => mode !== "once" && mode !== "record";
