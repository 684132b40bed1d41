/** Bindings of the processes of `ganglion serve --workers N`, which `cli/workers.ts` sets. */

/** `{own, count}`: the number of the process, from 1, and the number of processes. */
export const WORKERS_BINDING = "GANGLION_WORKERS";
/** The process that has the Durable Objects, if it is another one. */
export const OBJECTS_BINDING = "GANGLION_OBJECTS";
/** Followed by the number of another process. */
export const PEER_BINDING = "GANGLION_PEER_";
