/** The adapters of accounts, as the backends see them. */
import type { AccountAdapter } from "../../backends/adapters.ts";
import type { Storage } from "../../storage/storage.ts";
import type { EngineFolders } from "../adapters/engine-folders.ts";
import { isComplete } from "../adapters/records.ts";
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
