/**
 * A scripted Vectorize API, version 2, of the product: its limits, codes and shapes. Searches are exact. Mutations are visible at once, or when
 * `apply` is called.
 */
import { cosine, distance, dot, type Json, Refused } from "./json-server.ts";

const ACCOUNT = "0123456789abcdef0123456789abcdef";
export const HOSTED_ACCOUNT = { url: "https://hosted.example/client/v4", id: ACCOUNT, token: "hosted-token" };

interface Vector {
	id: string;
	values: number[];
	namespace?: string;
	metadata?: Json;
	/** By the numbers of metadata indexes. */
	indexed: Record<number, string | number | boolean>;
}

interface Property {
	number: number;
	propertyName: string;
	indexType: string;
}

interface Hosted {
	config: { dimensions: number; metric: string };
	vectors: Map<string, Vector>;
	properties: Property[];
	lastProperty: number;
	pending: { id: string; run(): void }[];
	processed?: { id: string; at: string };
	lists: Map<string, string[]>;
}

const COMPARED: Record<string, (a: Json, b: Json) => boolean> = {
	$lt: (a, b) => a < b,
	$lte: (a, b) => a <= b,
	$gt: (a, b) => a > b,
	$gte: (a, b) => a >= b,
};

const truncated = (text: string): string => {
	let short = text;
	while (Buffer.byteLength(short) > 64) short = short.slice(0, -1);
	return short;
};

export function hostedServer({ isDelayed = false } = {}) {
	const indexes = new Map<string, Hosted>();
	const requests: { method: string; path: string }[] = [];

	const mutate = (index: Hosted, run: () => void): { mutationId: string } => {
		const id = crypto.randomUUID();
		index.pending.push({ id, run });
		if (!isDelayed) apply(index);
		return { mutationId: id };
	};
	function apply(index: Hosted): void {
		for (const { id, run } of index.pending.splice(0)) {
			run();
			index.processed = { id, at: new Date().toISOString() };
		}
	}

	function vectorOf(line: string, number: number, { config, properties }: Hosted): Vector {
		const problem = new Refused(
			400,
			`failed to parse upsert vectors request in ndjson format: line Some(${number}) was not expected format`,
			40_023,
		);
		let vector: Json;
		try {
			vector = JSON.parse(line);
		} catch {
			throw problem;
		}
		const { id, metadata, namespace, values } = vector;
		if (typeof id !== "string" || !Array.isArray(values)) throw problem;
		if (Buffer.byteLength(id) > 64) throw new Refused(400, "id too long", 40_008);
		if (values.length !== config.dimensions)
			throw new Refused(
				400,
				`invalid vector for id="${id}", expected ${config.dimensions} dimensions, and got ${values.length} dimensions`,
				40_012,
			);
		const indexed: Vector["indexed"] = {};
		for (const { indexType, number: key, propertyName } of properties) {
			const value = propertyName.split(".").reduce((place: Json, part) => place?.[part], metadata);
			const type: string = typeof value;
			if (type === indexType) indexed[key] = typeof value === "string" ? truncated(value) : value;
		}
		return { ...{ id, indexed, metadata, namespace }, values: Array.from(new Float32Array(values)) };
	}

	function isMatch({ indexed, namespace }: Vector, { filter = {}, ...body }: Json, { properties }: Hosted) {
		if (body.namespace !== undefined && body.namespace !== namespace) return false;
		return Object.entries(filter as Record<string, Json>).every(([name, operators]) => {
			const own = properties.filter(({ propertyName }) => propertyName === name);
			if (own.length === 0) throw new Refused(400, "filter on a property without an index", 40_022);
			const value = own.map(({ number }) => indexed[number]).find((found) => found !== undefined) ?? null;
			return Object.entries(operators as Record<string, Json>).every(([operator, operand]) => {
				if (operator === "$eq") return value === operand;
				if (operator === "$ne") return value !== operand;
				if (operator === "$in") return operand.includes(value);
				if (operator === "$nin") return !operand.includes(value);
				return typeof value === typeof operand && COMPARED[operator]?.(value, operand);
			});
		});
	}

	function query(index: Hosted, body: Json): Json {
		const { config, properties, vectors } = index;
		const { returnMetadata = "none", returnValues = false, topK = 5, vectorId } = body;
		if (!["none", "indexed", "all"].includes(returnMetadata))
			throw new Refused(
				400,
				"Failed to parse the request body as JSON: returnMetadata: expected value",
				40_026,
			);
		if (topK > (returnValues || returnMetadata === "all" ? 50 : 100))
			throw new Refused(400, "max top K", 40_025);
		const vector = vectorId === undefined ? body.vector : vectors.get(vectorId)?.values;
		if (vectorId !== undefined && !vector) return { count: 0, matches: [] };
		if (vector.length !== config.dimensions)
			throw new Refused(
				400,
				`invalid query vector, expected ${config.dimensions} dimensions, and got ${vector.length} dimensions`,
				40_006,
			);
		const scores = { cosine, euclidean: distance, "dot-product": (a: number[], b: number[]) => -dot(a, b) };
		const score = scores[config.metric as keyof typeof scores];
		const sign = config.metric === "cosine" ? -1 : 1;
		const matches = [...vectors.values()]
			.filter((found) => isMatch(found, body, index))
			.map(({ id, indexed, metadata, namespace, values }) => ({
				...{ id, score: score(vector, values) + 0, namespace },
				...(returnValues && { values }),
				...(returnMetadata === "all" && { metadata }),
				...(returnMetadata === "indexed" && { metadata: nestedOf(indexed, properties) }),
			}))
			.sort((a, b) => sign * (a.score - b.score) || (a.id < b.id ? -1 : 1))
			.slice(0, topK);
		return { count: matches.length, matches };
	}

	function nestedOf(indexed: Vector["indexed"], properties: Property[]): Json {
		const result: Json = {};
		for (const { number, propertyName } of properties) {
			const keys = propertyName.split(".");
			const last = keys.pop() ?? "";
			if (indexed[number] === undefined) continue;
			let place = result;
			for (const key of keys) {
				place[key] ??= {};
				place = place[key];
			}
			place[last] = indexed[number];
		}
		return result;
	}

	function list({ lists, vectors }: Hosted, search: URLSearchParams): Json {
		const [snapshot = "", from = "0"] = (search.get("cursor") ?? `${crypto.randomUUID()}_0`).split("_");
		if (search.has("cursor") && !lists.has(snapshot)) throw new Refused(400, "invalid cursor", 40_099);
		const ids = lists.get(snapshot) ?? [...vectors.keys()].sort();
		lists.set(snapshot, ids);
		const end = Number(from) + Number(search.get("count") ?? 100);
		const page = ids.slice(Number(from), end);
		const isTruncated = end < ids.length;
		return {
			...{ count: page.length, totalCount: ids.length, isTruncated },
			nextCursor: isTruncated ? `${snapshot}_${end}` : null,
			cursorExpirationTimestamp: isTruncated ? "2026-11-27T13:00:00.000Z" : null,
			vectors: page.map((id) => ({ id })),
		};
	}

	function idsOf({ ids }: Json, max: number): string[] {
		if (ids.length > max)
			throw new Refused(400, `too many ids in payload; max id count is ${max}, got ${ids.length}`, 40_007);
		return ids;
	}

	function operate(
		index: Hosted,
		operation: string,
		search: URLSearchParams,
		text: string,
		type: string,
	): Json {
		const { config, processed, properties, vectors } = index;
		const body = type === "application/json" ? JSON.parse(text) : undefined;
		switch (operation) {
			case "GET info":
				return {
					...{ dimensions: config.dimensions, vectorCount: vectors.size },
					processedUpToDatetime: processed?.at ?? null,
					processedUpToMutation: processed?.id ?? null,
				};
			case "POST insert":
			case "POST upsert": {
				if (type !== "application/x-ndjson") throw new Refused(400, "unsupported content type", 1005);
				const lines = text.split("\n");
				if (lines.length > 5_000) throw new Refused(400, "too many vectors in payload", 40_011);
				const read = lines.map((line, at) => vectorOf(line, at, index));
				return mutate(index, () => {
					for (const vector of read)
						if (operation === "POST upsert" || !vectors.has(vector.id)) vectors.set(vector.id, vector);
				});
			}
			case "POST query":
				return query(index, body);
			case "POST get_by_ids":
				return idsOf(body, 20).flatMap((id) => {
					const vector = vectors.get(id);
					if (!vector) return [];
					const { metadata, namespace, values } = vector;
					return { id, values, namespace, metadata };
				});
			case "POST delete_by_ids": {
				const ids = idsOf(body, 100);
				return mutate(index, () => {
					for (const id of ids) vectors.delete(id);
				});
			}
			case "GET list":
				return list(index, search);
			case "POST metadata_index/create":
				index.lastProperty++;
				properties.push({ ...body, number: index.lastProperty });
				return mutate(index, () => {});
			case "POST metadata_index/delete":
				index.properties = properties.filter(({ propertyName }) => propertyName !== body.propertyName);
				return mutate(index, () => {});
			case "GET metadata_index/list":
				return { metadataIndexes: properties.map(({ number, ...shown }) => shown) };
			default:
				throw new Refused(404, "no route", 7003);
		}
	}

	async function answer(request: Request): Promise<Json> {
		if (request.headers.get("authorization") !== `Bearer ${HOSTED_ACCOUNT.token}`)
			throw new Refused(403, "Authentication error", 10_000);
		const { pathname, searchParams } = new URL(request.url);
		const base = `/client/v4/accounts/${ACCOUNT}/vectorize/v2/indexes`;
		if (!pathname.startsWith(base)) throw new Refused(404, "no route", 7003);
		const [, name, ...path] = pathname.slice(base.length).split("/");
		const text = new TextDecoder().decode(await request.arrayBuffer());
		const type = request.headers.get("content-type") ?? "";
		if (name === undefined) {
			const body = JSON.parse(text);
			if (indexes.has(body.name)) throw new Refused(409, "vectorize.index.duplicate_name", 3002);
			if (body.name.length > 64) throw new Refused(400, "invalid name", 1005);
			const { dimensions, metric } = body.config;
			const lists = new Map<string, string[]>();
			const created = {
				vectors: new Map<string, Vector>(),
				properties: [],
				lastProperty: 0,
				pending: [],
				lists,
			};
			indexes.set(body.name, { config: { dimensions, metric }, ...created });
			return { name: body.name, config: body.config };
		}
		const index = indexes.get(name);
		if (!index) throw new Refused(404, `vectorize.index.not_found - Index name "${name}"`, 3000);
		const operation = `${request.method} ${path.join("/")}`.trim();
		if (operation === "GET") return { name, config: index.config };
		if (operation !== "DELETE") return operate(index, operation, searchParams, text, type);
		indexes.delete(name);
		return null;
	}

	const serve: typeof fetch = async (input, init) => {
		const request = new Request(input, init);
		requests.push({ method: request.method, path: new URL(request.url).pathname });
		try {
			const result = await answer(request);
			return Response.json({ result, success: true, errors: [], messages: [] });
		} catch (error) {
			if (!(error instanceof Refused)) throw error;
			const { code, message, status } = error;
			return Response.json(
				{ result: null, success: false, errors: [{ code, message }], messages: [] },
				{ status },
			);
		}
	};
	return {
		...{ fetch: serve, indexes, requests },
		apply() {
			for (const index of indexes.values()) apply(index);
		},
	};
}
