/** A hosted index over REST: developers.cloudflare.com/api/resources/vectorize/subresources/indexes. */
import { AiError } from "../../../../core/errors.ts";
import { isRecord } from "../../../../core/json.ts";
import { cursorInvalid } from "../../failures.ts";
import { MAX_DELETE_IDS, MAX_GET_IDS, MAX_REST_VECTORS } from "../../limits.ts";
import {
	METADATA_TYPES,
	type MetadataIndex,
	type Mutation,
	type StoredVector,
	type VectorIndexInfo,
	type VectorListQuery,
	type VectorMatch,
	type VectorPage,
	type VectorQuery,
} from "../../records.ts";
import type { VectorStore } from "../../vector-store.ts";
import type { ExternalIndex, StoreServices } from "../external-store.ts";
import { callStore } from "../json-call.ts";
import { storeFailed } from "../store-failed.ts";
import type { VectorizeAccount } from "../store-settings.ts";
import {
	hostedFailure,
	hostedOptions,
	hostedVectors,
	infoOf,
	matchOf,
	storedVector,
} from "./hosted-shapes.ts";

const NDJSON = "application/x-ndjson";
const JSON_TYPE = "application/json";

export interface HostedIndex {
	account: VectorizeAccount;
	/** The name of the index in the product. */
	hosted: string;
	/** The index was there before: it is not created, and not deleted. */
	isForeign: boolean;
	external: ExternalIndex;
	services: StoreServices;
}

/** In the order of `values`, in parts of at most `size`. */
export function* parts<Value>(values: readonly Value[], size: number): Generator<readonly Value[]> {
	for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
}

export class RestIndex implements VectorStore {
	readonly #options: HostedIndex;

	constructor(options: HostedIndex) {
		this.#options = options;
	}

	/** An index that exists must have the same shape. */
	async create(): Promise<void> {
		const { external, hosted, isForeign } = this.#options;
		const { dimensions, metric } = external.index;
		if (!isForeign) {
			const body = JSON.stringify({ name: hosted, config: { dimensions, metric } });
			const created = await this.#send("POST", "", JSON_TYPE, body);
			if (created.ok) return;
			if (created.status !== 409) throw this.#failure(created);
		}
		const found = await this.#result("GET", `/${hosted}`);
		const config = isRecord(found) && isRecord(found.config) ? found.config : {};
		if (config.dimensions !== dimensions || config.metric !== metric)
			throw shapeDiffers(external, `${config.dimensions} dimensions and the metric ${config.metric}`);
	}

	async drop(): Promise<void> {
		const { hosted, isForeign } = this.#options;
		if (isForeign) return;
		const answer = await this.#send("DELETE", `/${hosted}`);
		if (!answer.ok && answer.status !== 404) throw this.#failure(answer);
	}

	async info(): Promise<VectorIndexInfo> {
		return infoOf(await this.#index("GET", "/info")) ?? this.#unreadable();
	}

	async write(mutation: Mutation): Promise<string> {
		const id = await this.#write(mutation);
		await reportSize(this, this.#options.external);
		return id;
	}

	async #write(mutation: Mutation): Promise<string> {
		if ("index" in mutation) {
			const verb = mutation.operation === "create-metadata-index" ? "create" : "delete";
			const { indexType, propertyName } = mutation.index;
			const body = { propertyName, ...(verb === "create" && { indexType }) };
			return this.#mutated(`/metadata_index/${verb}`, JSON_TYPE, JSON.stringify(body));
		}
		let last = mutation.id;
		if ("ids" in mutation) {
			for (const ids of parts(mutation.ids, MAX_DELETE_IDS))
				last = await this.#mutated("/delete_by_ids", JSON_TYPE, JSON.stringify({ ids }));
			return last;
		}
		const { dimensions } = this.#options.external.index;
		const lines = mutation.batches.flatMap((batch) =>
			Array.from(hostedVectors(batch, dimensions), (vector) => JSON.stringify(vector)),
		);
		for (const upload of parts(lines, MAX_REST_VECTORS))
			last = await this.#mutated(`/${mutation.operation}`, NDJSON, upload.join("\n"));
		return last;
	}

	async #mutated(path: string, type: string, body: string): Promise<string> {
		const result = await this.#index("POST", path, type, body);
		return isRecord(result) && typeof result.mutationId === "string" ? result.mutationId : this.#unreadable();
	}

	async query(query: VectorQuery): Promise<VectorMatch[]> {
		const { vector } = query;
		const searched = typeof vector === "string" ? { vectorId: vector } : { vector: [...vector] };
		const body = JSON.stringify({ ...hostedOptions(query), ...searched });
		const result = await this.#index("POST", "/query", JSON_TYPE, body);
		if (!isRecord(result) || !Array.isArray(result.matches)) return this.#unreadable();
		return result.matches.map((match) => matchOf(match) ?? this.#unreadable());
	}

	async get(ids: readonly string[]): Promise<StoredVector[]> {
		const found = new Map<string, StoredVector>();
		for (const part of parts(ids, MAX_GET_IDS)) {
			const result = await this.#index("POST", "/get_by_ids", JSON_TYPE, JSON.stringify({ ids: part }));
			if (!Array.isArray(result)) return this.#unreadable();
			for (const value of result) {
				const vector = storedVector(value) ?? this.#unreadable();
				found.set(vector.id, vector);
			}
		}
		return ids.flatMap((id) => found.get(id) ?? []);
	}

	/** A cursor is the product's, which has no known refusal of an old one. */
	async list({ count, cursor }: VectorListQuery): Promise<VectorPage> {
		const query = new URLSearchParams({ count: String(count), ...(cursor !== undefined && { cursor }) });
		const answer = await this.#send("GET", `/${this.#options.hosted}/list?${query}`);
		if (answer.status === 400 && cursor !== undefined) throw cursorInvalid();
		const page = this.#value(answer);
		if (!isRecord(page) || !Array.isArray(page.vectors)) return this.#unreadable();
		const ids = page.vectors.flatMap((vector) =>
			isRecord(vector) && typeof vector.id === "string" ? vector.id : [],
		);
		const expiresAt = Date.parse(String(page.cursorExpirationTimestamp));
		return {
			ids,
			totalCount: typeof page.totalCount === "number" ? page.totalCount : ids.length,
			...(page.isTruncated === true &&
				typeof page.nextCursor === "string" && { next: { cursor: page.nextCursor, expiresAt } }),
		};
	}

	async metadataIndexes(): Promise<MetadataIndex[]> {
		const result = await this.#index("GET", "/metadata_index/list");
		if (!isRecord(result) || !Array.isArray(result.metadataIndexes)) return this.#unreadable();
		return result.metadataIndexes.flatMap((found): MetadataIndex[] => {
			if (!isRecord(found) || typeof found.propertyName !== "string") return [];
			const indexType = METADATA_TYPES.find((type) => type === String(found.indexType).toLowerCase());
			return indexType ? [{ propertyName: found.propertyName, indexType }] : [];
		});
	}

	/** The result of a call of the index. */
	#index(method: "GET" | "POST", path: string, type?: string, body?: string): Promise<unknown> {
		return this.#result(method, `/${this.#options.hosted}${path}`, type, body);
	}

	async #result(method: "GET" | "POST", path: string, type?: string, body?: string): Promise<unknown> {
		return this.#value(await this.#send(method, path, type, body));
	}

	async #send(
		method: "DELETE" | "GET" | "POST",
		path: string,
		type?: string,
		body?: string,
	): Promise<HostedAnswer> {
		const { account, external, services } = this.#options;
		const { status, value } = await callStore(
			{
				method,
				url: `${account.url}/accounts/${account.id}/vectorize/v2/indexes${path}`,
				headers: { authorization: `Bearer ${account.token}`, ...(type && { "content-type": type }) },
				...(body !== undefined && { body }),
			},
			external,
			services,
		);
		return { ok: status >= 200 && status < 300, status, envelope: isRecord(value) ? value : {} };
	}

	#value(answer: HostedAnswer): unknown {
		if (!answer.ok) throw this.#failure(answer);
		return answer.envelope.result;
	}

	#failure({ envelope, status }: HostedAnswer): AiError {
		const [error] = Array.isArray(envelope.errors) ? envelope.errors : [];
		const code = isRecord(error) && typeof error.code === "number" ? error.code : undefined;
		const text = isRecord(error) && typeof error.message === "string" ? error.message : "";
		if (code === undefined) return storeFailed(this.#options.external.name, `has answered HTTP ${status}`);
		return hostedFailure(code, text, this.#options.external);
	}

	#unreadable(): never {
		throw storeFailed(this.#options.external.name, "has answered with an unexpected shape");
	}
}

interface HostedAnswer {
	ok: boolean;
	status: number;
	envelope: Record<string, unknown>;
}

export const shapeDiffers = ({ index, name }: ExternalIndex, found: string): AiError =>
	new AiError(
		"invalidRequest",
		`config: the index in the store "${name}" has ${found}, found ${index.dimensions} dimensions and the metric ${index.metric}`,
	);

const FLOAT_BYTES = 4;

/** Reports the size that the product shows, which may be that before the last mutation. */
export async function reportSize(store: VectorStore, { index, written }: ExternalIndex): Promise<void> {
	if (!written) return;
	const info = await store.info().catch(() => undefined);
	if (info) written({ vectors: info.vectorCount, bytes: info.vectorCount * index.dimensions * FLOAT_BYTES });
}
