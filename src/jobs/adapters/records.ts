/** LoRA adapters of an account, as they cross RPC. The product calls them fine-tunes. */

export const CONFIG_FILE = "adapter_config.json";
export const WEIGHTS_FILE = "adapter_model.safetensors";
/** An adapter has exactly these. */
export const ADAPTER_FILES = [CONFIG_FILE, WEIGHTS_FILE] as const;
export type AdapterFileName = (typeof ADAPTER_FILES)[number];

/** The bytes are a stored object with this key. */
export interface AdapterFile {
	name: AdapterFileName;
	key: string;
	bytes: number;
	/** The rank that the configuration declares, or the largest of the tensors. */
	rank: number;
}

/** Times are epoch milliseconds. */
export interface AdapterRecord {
	id: string;
	/** Unique in the account. */
	name: string;
	/** Id of the base model. */
	model: string;
	description?: string;
	isPublic: boolean;
	createdAt: number;
	modifiedAt: number;
	files: AdapterFile[];
}

export type NewAdapter = Omit<AdapterRecord, "files" | "modifiedAt">;

/** The bounds of each account. From `JOBS.adapters`. */
export interface AdapterBounds {
	maxAdapters: number;
	/** Of one file. */
	fileBytes: number;
	maxRank: number;
}

/** `existing`: id of the adapter with that name. */
export type CreatedAdapter =
	| { ok: true; adapter: AdapterRecord }
	| { ok: false; reason: "full" }
	| { ok: false; reason: "exists"; existing: string };

/** `replaced`: key of the file before. `rank`: that of the other file, which does not fit. */
export type StoredAdapterFile =
	| { ok: true; adapter: AdapterRecord; replaced?: string }
	| { ok: false; reason: "missing" }
	| { ok: false; reason: "complete" }
	| { ok: false; reason: "rank"; declared: number; found: number };

export interface AdapterUsage {
	adapters: number;
	adapterBytes: number;
}

export const isComplete = ({ files }: Pick<AdapterRecord, "files">): boolean =>
	files.length === ADAPTER_FILES.length;

/** The beginning of the keys of an adapter's files. */
export const adapterPrefix = (id: string): string => `adapters/${id}/`;
