/** Where weights come from, for a download: revision, sizes and hashes first, and then the bytes. */
import { LocalProblem } from "./problem.ts";
import type { Manifest, StoredFile } from "./store.ts";
import type { Weights } from "./table.ts";

/** The environment variable with the hub: an address or a folder. */
export const HUB_SETTING = "GANGLION_HUB";

/** The rest of a file. */
export interface OpenFile {
	/** The position of its first byte. 0 if the source cannot start elsewhere. */
	from: number;
	bytes: AsyncIterable<Uint8Array>;
}

export interface Source {
	/** For messages. */
	name: string;
	/** Revision, sizes and hashes of the files of a row. */
	manifestOf(weights: Weights, signal: AbortSignal): Promise<Manifest>;
	open(manifest: Manifest, file: StoredFile, from: number, signal: AbortSignal): Promise<OpenFile>;
}

export const unavailable = (message: string, cause?: unknown): LocalProblem =>
	new LocalProblem("weights_unavailable", message, { cause });
