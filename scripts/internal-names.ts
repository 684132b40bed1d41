/** Names of environment variables that a command sets for the processes that it starts. */

/** The settings of a connection guard, as JSON. */
export const GUARD_SETTINGS = "GANGLION_GUARD";

/** If it is set, wrangler serves `dist/worker` instead of its `main`, which is then not built. */
export const SERVED_BUILD = "GANGLION_SERVED_BUILD";
