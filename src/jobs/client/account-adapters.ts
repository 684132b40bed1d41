/** The adapters of accounts, as the backends see them. */
import type { AccountAdapter } from "../../backends/adapters.ts";
import type { Storage } from "../../storage/storage.ts";
import type { EngineFolders } from "../adapters/engine-folders.ts";
import { type AdapterRecord, isComplete } from "../adapters/records.ts";
import type { JobsServices } from "../services.ts";
import type { Jobs } from "./jobs.ts";

interface AdapterServices {
	jobs: Pick<Jobs, "adapters">;
	storage: Pick<Storage, "blobs">;
	engineFolders: EngineFolders;
}

/** The `findAdapter` of the backends' services. */
export const adapterFinder =
	({ jobs, storage, engineFolders }: AdapterServices) =>
	async (account: string, name: string): Promise<AccountAdapter | undefined> => {
		const adapter = await jobs.adapters(account, (adapters) => adapters.find(name));
		return (
			adapter && {
				id: adapter.id,
				name: adapter.name,
				model: adapter.model,
				isComplete: isComplete(adapter),
				writeTo: (backend) => engineFolders.write(backend, adapter, storage.blobs(account)),
			}
		);
	};

/**
 * Writes a complete adapter into the folders of the backends that serve its model, so that its first request does not wait for that. A folder
 * that cannot be written now is written with that request.
 */
export async function writeAhead(
	account: string,
	adapter: AdapterRecord,
	{ engineFolders, routing, storage }: Pick<JobsServices, "engineFolders" | "routing" | "storage">,
): Promise<void> {
	if (!isComplete(adapter)) return;
	const targets = routing.find(adapter.model)?.targets ?? [];
	const backends = targets.filter(({ adapters }) => adapters?.folder !== undefined);
	if (backends.length === 0) return;
	const blobs = storage.blobs(account);
	await Promise.allSettled(backends.map(({ backend }) => engineFolders.write(backend, adapter, blobs)));
}
