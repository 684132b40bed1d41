/** Bindings of the processes of `ganglion serve`, which `cli/workers.ts` sets. */

export const WORKERS_BINDING = "GANGLION_WORKERS";
/** The value of {@link WORKERS_BINDING}. */
export interface WorkersSetting {
	/** The number of the process, from 1. */
	number: number;
	/** The number of processes. */
	count: number;
	/** The bindings of Durable Objects. */
	objects: readonly string[];
}
/** The process that has the Durable Objects, if it is another one. */
export const OBJECTS_BINDING = "GANGLION_OBJECTS";
/** The address of the process that converts documents. Absent on Cloudflare. */
export const DOCUMENTS_BINDING = "GANGLION_DOCUMENTS";
/** The address of the process that writes adapters into the folders of engines. Absent on Cloudflare. */
export const ADAPTERS_BINDING = "GANGLION_ADAPTERS";
/** Followed by the number of another process. */
export const PEER_BINDING = "GANGLION_PEER_";
/** Ids of the objects of accounts that a version without a directory has created: a list of texts. */
export const OLDER_ACCOUNTS_BINDING = "GANGLION_OLDER_ACCOUNTS";
