/**
 * The RPC entrypoint `Vectorize`: `env.VECTORIZE` as a service binding, for deployed Workers.
 *
 *     "services": [{ "binding": "VECTORIZE", "service": "ganglion", "entrypoint": "Vectorize",
 *       "props": { "account": "team-a", "index": "docs" } }]
 *
 * The account and the index come from the binding's `props`, which only the configuration of the calling Worker can set. The methods, their
 * results and the messages of their errors are those of the runtime's class; `fetch` answers its requests.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError, toAiError } from "../../core/errors.ts";
import { inOwnContext } from "../../http/own-context.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { MetadataType, VectorMetric } from "../../retrieval/vectors/records.ts";
import type { AppServices } from "../services.ts";
import { wireFailure, wireResult } from "./binding-wire.ts";

/** The index that a local session creates at its first use. `dimensions` absent: those of the first vector that is written. */
interface LocalIndex {
	dimensions?: number;
	metric?: VectorMetric;
	delayMs?: number;
	metadataIndexes?: Readonly<Record<string, MetadataType>>;
}

interface VectorizeProps {
	account?: string;
	index?: string;
	/** Absent: the index must exist. */
	create?: LocalIndex;
}

interface VectorizeVector {
	id: string;
	values: ArrayLike<number>;
	[field: string]: unknown;
}

/** `vectors`: of a write. */
interface WireBody {
	vectors?: readonly VectorizeVector[];
	[field: string]: unknown;
}

/** The class sends the dimensions of the first vector. */
const WIDTH_HEADER = "cf-vector-search-dim-width";
const WIRE = "http://vector-search";

export function vectorizeEntrypoint(current: () => { services: AppServices }) {
	return class extends WorkerEntrypoint<unknown, VectorizeProps> {
		describe(): Promise<unknown> {
			return this.#send("INDEX_GET", "info");
		}

		query(vector: ArrayLike<number>, options?: object): Promise<unknown> {
			return this.#send("VECTOR_QUERY", "query", { ...searchOptions(options), vector: numbersOf(vector) });
		}

		queryById(vectorId: string, options?: object): Promise<unknown> {
			return this.#send("VECTOR_QUERY", "query", { ...searchOptions(options), vectorId });
		}

		insert(vectors: VectorizeVector[]): Promise<unknown> {
			return this.#send("VECTOR_INSERT", "insert", { vectors: vectors.map(plain) });
		}

		upsert(vectors: VectorizeVector[]): Promise<unknown> {
			return this.#send("VECTOR_UPSERT", "upsert", { vectors: vectors.map(plain) });
		}

		getByIds(ids: string[]): Promise<unknown> {
			return this.#send("VECTOR_GET", "getByIds", { ids });
		}

		deleteByIds(ids: string[]): Promise<unknown> {
			return this.#send("VECTOR_DELETE", "deleteByIds", { ids });
		}

		override async fetch(request: Request): Promise<Response> {
			try {
				return Response.json(await this.#result(request));
			} catch (thrown) {
				return wireFailure(this.#logged(thrown));
			}
		}

		/** Throws the errors of the runtime's class. */
		async #send(operation: string, path: string, body?: WireBody): Promise<unknown> {
			const width = body?.vectors?.[0]?.values.length ?? 0;
			const init = {
				method: body ? "POST" : "GET",
				...(body && {
					body: JSON.stringify(body),
					headers: { "content-type": "application/json", [WIDTH_HEADER]: String(width) },
				}),
			};
			return inOwnContext((signal) =>
				this.#answer(operation, new Request(`${WIRE}/${path}`, { ...init, signal })),
			);
		}

		async #answer(operation: string, request: Request): Promise<unknown> {
			try {
				return await this.#result(request);
			} catch (thrown) {
				const { code, description } = this.#logged(thrown);
				const message = `${operation}_ERROR (code = ${code}): ${description}`;
				throw new Error(message, { cause: new Error(description) });
			}
		}

		async #result(request: Request): Promise<object> {
			const { services } = current();
			const { account, create, index } = this.ctx.props as VectorizeProps;
			if (account === undefined || index === undefined)
				throw new AiError(
					"authentication",
					"Authentication error: the binding has no props.account and props.index",
				);
			if (create) await requireIndex({ account, index }, create, request, services);
			const caller: Caller = { account, credential: { kind: "operator" }, verified: true };
			return wireResult({ caller, index, request, services });
		}

		#logged(thrown: unknown): AiError {
			const error = toAiError(thrown);
			current().services.log(error, "");
			return error;
		}
	};
}

/** As the runtime's class: `true` is "all". */
const searchOptions = (options: object = {}): object =>
	"returnMetadata" in options && options.returnMetadata === true
		? { ...options, returnMetadata: "all" }
		: options;

const numbersOf = (values: ArrayLike<number>): number[] => Array.from(values);

const plain = (vector: VectorizeVector): VectorizeVector => ({ ...vector, values: numbersOf(vector.values) });

/** Indexes that exist, by account and name. */
const known = new Set<string>();
const MAX_KNOWN = 1_000;

/** Creates the index if it does not exist, with its metadata indexes. */
async function requireIndex(
	{ account, index }: { account: string; index: string },
	{ delayMs, dimensions, metadataIndexes = {}, metric = "cosine" }: LocalIndex,
	request: Request,
	{ vectorIndexes }: Pick<AppServices, "vectorIndexes">,
): Promise<void> {
	const key = `${account}/${index}`;
	if (known.has(key)) return;
	if (known.size >= MAX_KNOWN) known.clear();
	const width = dimensions ?? Number(request.headers.get(WIDTH_HEADER) ?? 0);
	const exists = await vectorIndexes.get(account, index).then(
		() => true,
		(error: unknown) => missing(error, width),
	);
	if (!exists) {
		await vectorIndexes
			.create(account, { name: index, dimensions: width, metric, delayMs })
			.catch((error: unknown) => {
				if (toAiError(error).key !== "vectorIndexExists") throw error;
			});
		const { store } = await vectorIndexes.open(account, index);
		for (const [propertyName, indexType] of Object.entries(metadataIndexes))
			await store.write({
				id: crypto.randomUUID(),
				operation: "create-metadata-index",
				index: { propertyName, indexType },
			});
	}
	known.add(key);
}

function missing(error: unknown, width: number): false {
	const { description, key } = toAiError(error);
	if (key !== "vectorIndexNotFound") throw error;
	if (width > 0) return false;
	throw new AiError(
		key,
		`${description}: set dimensions in the options of the binding, or insert a vector first`,
	);
}
