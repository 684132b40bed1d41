/** The folders from which engines read adapters. A process of `ganglion serve` writes them (`ADAPTERS_BINDING`). */
import { AiError } from "../../core/errors.ts";
import { endedAfter } from "../../core/with-timeout.ts";
import { callOut } from "../../outbound/call-out.ts";
import type { Blobs } from "../../storage/blobs/blobs.ts";
import type { Storage } from "../../storage/storage.ts";
import { type AdapterRecord, adapterPrefix } from "./records.ts";

/** Of one call: a file of 500 MB on a slow disk. */
const CALL_MS = 120_000;

interface FolderServices {
	fetch: typeof fetch;
	/** Of the process that writes. Absent: there is none, as on Cloudflare. */
	address: string | undefined;
}

export class EngineFolders {
	readonly #services: FolderServices;

	constructor(services: FolderServices) {
		this.#services = services;
	}

	/** Writes the files of an adapter, unless the folder of the backend has them. */
	async write(backend: string, { id, files }: AdapterRecord, blobs: Blobs): Promise<void> {
		const setting = `adapters.folder of the backend '${backend}'`;
		if (this.#services.address === undefined)
			throw new AiError(
				"loraUnsupported",
				`Only ganglion serve writes the folder of fine-tunes (${setting}): put the files into the folder of the engine, and set only adapters.seen_as`,
				{ retryable: true },
			);
		const path = `/${encodeURIComponent(backend)}/${id}`;
		if ((await this.#call(setting, "HEAD", path)) === FOUND) return;
		for (const { name, key } of files) {
			const blob = await blobs.get(key);
			const status = blob && (await this.#call(setting, "PUT", `${path}/${name}`, blob.body));
			// The adapter was deleted meanwhile.
			if (status === undefined || status === GONE) throw new AiError("adapterIncomplete");
			if (status !== WRITTEN) throw refused(setting, status);
		}
	}

	/** Deletes the files of an adapter from all folders. They are not written again. Throws if a folder keeps them. */
	async delete(id: string): Promise<void> {
		if (this.#services.address === undefined) return;
		const status = await this.#call(ANY_FOLDER, "DELETE", `/${id}`);
		if (status !== WRITTEN) throw refused(ANY_FOLDER, status);
	}

	/** Returns the status. `setting`: that of the folder. */
	async #call(
		setting: string,
		method: string,
		path: string,
		body?: ReadableStream<Uint8Array>,
	): Promise<number> {
		const { address, fetch } = this.#services;
		try {
			return await endedAfter(CALL_MS, late, async (signal) => {
				const response = await callOut({
					fetch,
					url: `${address}${path}`,
					method,
					headers: {},
					body,
					signal,
				});
				await response.body?.cancel();
				return response.status;
			});
		} catch (cause) {
			throw unwritable(setting, cause);
		}
	}
}

const late = (): Error => new Error(`No answer within ${CALL_MS} ms`);

const FOUND = 200;
const WRITTEN = 204;
const GONE = 410;

const ANY_FOLDER = "adapters.folder of a backend";

const refused = (setting: string, status: number): AiError => {
	const error = unwritable(setting, new Error(`The process that writes the folder answered ${status}`));
	error.place = { store: "ADAPTERS_BINDING", setting, status };
	return error;
};

const unwritable = (setting: string, cause: unknown): AiError =>
	new AiError("storageUnavailable", `The folder of fine-tunes cannot be written (${setting})`, { cause });

/** Deletes the bytes of an adapter that no request finds any more: those of the account, and those in the folders. Throws if some are left. */
export async function deleteAdapterBytes(
	account: string,
	id: string,
	{
		engineFolders,
		storage,
	}: { engineFolders: Pick<EngineFolders, "delete">; storage: Pick<Storage, "blobs"> },
): Promise<void> {
	await storage.blobs(account).deletePrefix(adapterPrefix(id));
	await engineFolders.delete(id);
}
