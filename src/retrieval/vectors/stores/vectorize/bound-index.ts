/**
 * A hosted index by its binding. The runtime's class has no lists and no metadata indexes: with the account of the store they go over REST, and
 * without it they are refused.
 */
import { AiError } from "../../../../core/errors.ts";
import { MAX_BOUND_VECTORS, MAX_DELETE_IDS, MAX_GET_IDS } from "../../limits.ts";
import type {
	MetadataIndex,
	Mutation,
	StoredVector,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorPage,
	VectorQuery,
} from "../../records.ts";
import type { VectorStore } from "../../vector-store.ts";
import type { ExternalIndex } from "../external-store.ts";
import { storeFailed } from "../store-failed.ts";
import type { BoundVectorize } from "../store-settings.ts";
import {
	hostedFailure,
	hostedOptions,
	hostedVectors,
	infoOf,
	matchOf,
	storedVector,
} from "./hosted-shapes.ts";
import { parts, reportSize, shapeDiffers } from "./rest-index.ts";

interface BoundIndexOptions {
	binding: BoundVectorize;
	external: ExternalIndex;
	/** The same index over REST. */
	rest: VectorStore | undefined;
}

/** The message of the runtime's class: `VECTOR_QUERY_ERROR (code = 40006): …`. */
const MESSAGE = /^[A-Z_]+_ERROR(?: \(code = (\d+)\))?: (.*)$/s;

export class BoundIndex implements VectorStore {
	readonly #options: BoundIndexOptions;

	constructor(options: BoundIndexOptions) {
		this.#options = options;
	}

	/** The index exists, and must have the same width. */
	async create(): Promise<void> {
		const { external, rest } = this.#options;
		if (rest) return rest.create();
		const { dimensions } = (await this.#call((index) => index.describe())) as { dimensions?: number };
		if (dimensions !== external.index.dimensions) throw shapeDiffers(external, `${dimensions} dimensions`);
	}

	/** The hosted index stays. */
	async drop(): Promise<void> {}

	async info(): Promise<VectorIndexInfo> {
		return infoOf(await this.#call((index) => index.describe())) ?? this.#unreadable();
	}

	async write(mutation: Mutation): Promise<string> {
		const id = await this.#write(mutation);
		await reportSize(this, this.#options.external);
		return id;
	}

	async #write(mutation: Mutation): Promise<string> {
		if ("index" in mutation) return this.#rest("change metadata indexes").write(mutation);
		let last = mutation.id;
		if ("ids" in mutation) {
			for (const ids of parts(mutation.ids, MAX_DELETE_IDS))
				last = await this.#mutated((index) => index.deleteByIds([...ids]));
			return last;
		}
		const { dimensions } = this.#options.external.index;
		const vectors = mutation.batches.flatMap((batch) => [...hostedVectors(batch, dimensions)]);
		for (const part of parts(vectors, MAX_BOUND_VECTORS))
			last = await this.#mutated((index) => index[mutation.operation]([...part]));
		return last;
	}

	async #mutated(write: (index: BoundVectorize) => Promise<unknown>): Promise<string> {
		const { mutationId } = (await this.#call(write)) as { mutationId?: unknown };
		return typeof mutationId === "string" ? mutationId : this.#unreadable();
	}

	async query(query: VectorQuery): Promise<VectorMatch[]> {
		const { vector } = query;
		const options = hostedOptions(query);
		const { matches } = (await this.#call((index) =>
			typeof vector === "string" ? index.queryById(vector, options) : index.query([...vector], options),
		)) as { matches?: unknown };
		if (!Array.isArray(matches)) return this.#unreadable();
		return matches.map((match) => matchOf(match) ?? this.#unreadable());
	}

	async get(ids: readonly string[]): Promise<StoredVector[]> {
		const found = new Map<string, StoredVector>();
		for (const part of parts(ids, MAX_GET_IDS)) {
			const vectors = await this.#call((index) => index.getByIds([...part]));
			if (!Array.isArray(vectors)) return this.#unreadable();
			for (const value of vectors) {
				const vector = storedVector(value) ?? this.#unreadable();
				found.set(vector.id, vector);
			}
		}
		return ids.flatMap((id) => found.get(id) ?? []);
	}

	async list(query: VectorListQuery): Promise<VectorPage> {
		return this.#rest("list vectors").list(query);
	}

	async metadataIndexes(): Promise<MetadataIndex[]> {
		return this.#rest("list metadata indexes").metadataIndexes();
	}

	#rest(what: string): VectorStore {
		const { external, rest } = this.#options;
		if (rest) return rest;
		throw new AiError(
			"invalidRequest",
			`The vector store "${external.name}" cannot ${what}, because a binding has no such method: set account, index and key in VECTORS.stores`,
		);
	}

	async #call<Value>(method: (index: BoundVectorize) => Promise<Value>): Promise<Value> {
		const { binding, external } = this.#options;
		try {
			return await method(binding);
		} catch (error) {
			const message = error instanceof Error ? error.message : "";
			const [, code, text = ""] = MESSAGE.exec(message) ?? [];
			if (code === undefined) throw storeFailed(external.name, "has failed", error);
			throw hostedFailure(Number(code), text, external);
		}
	}

	#unreadable(): never {
		throw storeFailed(this.#options.external.name, "has answered with an unexpected shape");
	}
}
