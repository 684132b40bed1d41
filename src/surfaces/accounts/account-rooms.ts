/**
 * How the data of an account are deleted, in each class of objects. A new class does not compile without an answer here, and a test compares
 * the table with the classes of the deployment.
 */
import type { AppServices, ErasableBinding, ObjectBinding } from "../services.ts";

/** Deletes what there is. Returns the number of rows or objects, or nothing if some are left now: it is called again. */
type DeleteRoom = (account: string, services: AppServices) => Promise<number | undefined>;
/** `by`: the row that deletes the objects of this class, too. `none`: why there are no data of accounts. */
type Room = DeleteRoom | { by: ObjectBinding } | { none: string };

/** The objects with this name: one of each account. */
const ofAccount =
	(binding: ErasableBinding): DeleteRoom =>
	(account, { eraseObject }) =>
		eraseObject(binding, account);

/** In the order of the deletion: first what stops work, last what finds the rest. */
export const ACCOUNT_ROOMS: Readonly<Record<ObjectBinding, Room>> = {
	WORK_QUEUE: cancelWork,
	// Its objects delete vectors and files.
	SEARCH_REGISTRY: ofAccount("SEARCH_REGISTRY"),
	SEARCH_INSTANCE: { by: "SEARCH_REGISTRY" },
	VECTOR_REGISTRY: ofAccount("VECTOR_REGISTRY"),
	VECTOR_INDEX: { by: "VECTOR_REGISTRY" },
	RESPONSE_STORE: ofAccount("RESPONSE_STORE"),
	JOB_STORE: deleteJobs,
	BLOBS: ofAccount("BLOBS"),
	GATEWAYS: deleteGateways,
	GATEWAY: { by: "GATEWAYS" },
	RESPONSE_CACHE: { by: "GATEWAYS" },
	STREAM_RUN: { by: "GATEWAYS" },
	ACCOUNT: (account, { ledgers }) => ledgers.of(account).erase(),
	DIRECTORY: { none: "The end of the deletion removes the account from it." },
	FLEET: { none: "It has the health of engines." },
};

/** The deletions of AI Search's instances, which SEARCH_REGISTRY starts. */
const isSearchDeletion = (key: string): boolean => key.endsWith("/drop");

async function cancelWork(account: string, { storage }: AppServices): Promise<number | undefined> {
	let cancelled = 0;
	let isRunning = false;
	let after: number | undefined;
	do {
		const page = await storage.queue.list({ account, limit: 1_000, ...(after !== undefined && { after }) });
		for (const { kind, key, state } of page.items) {
			if (isSearchDeletion(key) && state !== "dead") continue;
			const was = await storage.queue.cancel({ account, kind, key });
			if (was === "running") isRunning = true;
			else if (was) cancelled++;
		}
		({ after } = page);
	} while (after !== undefined);
	return isRunning ? undefined : cancelled;
}

async function deleteJobs(account: string, services: AppServices): Promise<number | undefined> {
	const { engineFolders, eraseObject, jobs } = services;
	for (const id of await jobs.adapters(account, (adapters) => adapters.ids())) await engineFolders.delete(id);
	return eraseObject("JOB_STORE", account);
}

/** The registry has the names of the other objects, so it is the last one. */
async function deleteGateways(account: string, services: AppServices): Promise<number | undefined> {
	const { eraseObject, gateways, streamRuns } = services;
	await streamRuns.discard(account);
	let deleted = 0;
	for (const gateway of await gateways.registry(account).names()) {
		for (const binding of ["GATEWAY", "RESPONSE_CACHE"] as const) {
			const rows = await eraseObject(binding, `${account}/${gateway}`);
			if (rows === undefined) return undefined;
			deleted += rows;
		}
	}
	const rows = await eraseObject("GATEWAYS", account);
	return rows === undefined ? undefined : deleted + rows;
}
