/**
 * A scripted Qdrant server (https://api.qdrant.tech, version 1.17), for what this gateway sends. It refuses what the real server refuses, with
 * strict mode as in Qdrant Cloud: a filter needs an index of its field. Searches are exact.
 */
import { cosine, distance, dot, type Json, Refused } from "./json-server.ts";

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const RANGES: Record<string, (a: number, b: number) => boolean> = {
	lt: (a, b) => a < b,
	lte: (a, b) => a <= b,
	gt: (a, b) => a > b,
	gte: (a, b) => a >= b,
};
const isType: Record<string, (value: unknown) => boolean> = {
	keyword: (value) => typeof value === "string",
	integer: Number.isInteger,
	float: (value) => typeof value === "number",
	bool: (value) => typeof value === "boolean",
};

interface Point {
	id: string;
	payload: Json;
	vector: Record<string, number[]>;
}

interface Collection {
	/** By the names of vectors. `""`: the only one. */
	vectors: Record<string, { size: number; distance: string }>;
	points: Map<string, Point>;
	fields: Map<string, string>;
}

export function qdrantServer({ apiKey }: { apiKey?: string } = {}) {
	const collections = new Map<string, Collection>();
	const requests: string[] = [];

	const collectionOf = (name: string): Collection => {
		const found = collections.get(name);
		if (!found) throw new Refused(404, `Not found: Collection \`${name}\` doesn't exist!`);
		return found;
	};

	const idsOf = (ids: unknown): string[] => {
		if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string" && UUID.test(id)))
			throw new Refused(400, "Format error in JSON body: value is not a valid point ID");
		return ids;
	};

	function vectorsOf({ vectors }: Collection, sent: Json): Record<string, number[]> {
		const named = Array.isArray(sent) ? { "": sent } : sent;
		return Object.fromEntries(
			Object.entries(named as Record<string, number[]>).map(([name, values]) => {
				const setting = vectors[name];
				if (!setting) throw new Refused(400, `Wrong input: Not existing vector name error: ${name}`);
				if (!Array.isArray(values) || !values.every((value) => typeof value === "number"))
					throw new Refused(400, "Format error in JSON body: expected a vector");
				if (values.length !== setting.size)
					throw new Refused(
						400,
						`Wrong input: Vector dimension error: expected dim: ${setting.size}, got ${values.length}`,
					);
				const stored = Array.from(new Float32Array(values));
				if (setting.distance !== "Cosine") return [name, stored];
				const length = Math.sqrt(dot(stored, stored)) || 1;
				return [name, Array.from(new Float32Array(stored.map((value) => value / length)))];
			}),
		);
	}

	function requireField({ fields }: Collection, key: string, types: readonly string[]): void {
		const type = fields.get(key);
		if (!type || !types.includes(type))
			throw new Refused(
				400,
				`Bad request: Index required but not found for "${key}" of one of the following types`,
			);
	}

	/** An empty list is no condition. */
	function isMatch(collection: Collection, point: Point, filter: Json = {}): boolean {
		const { must = [], must_not = [], should = [], ...others } = filter;
		const all = (list: Json[]) => list.map((condition) => isMet(collection, point, condition));
		if (Object.keys(others).length > 0)
			throw new Refused(400, "Format error in JSON body: unknown condition");
		return (
			all(must).every(Boolean) &&
			!all(must_not).some(Boolean) &&
			(should.length === 0 || all(should).some(Boolean))
		);
	}

	function isMet(collection: Collection, point: Point, condition: Json): boolean {
		const { has_id, is_empty, key, match, range } = condition;
		if (has_id) return idsOf(has_id).includes(point.id);
		if (is_empty) {
			requireField(collection, is_empty.key, Object.keys(isType));
			return point.payload[is_empty.key] === undefined;
		}
		if (key === undefined) return isMatch(collection, point, condition);
		const value = point.payload[key];
		if (range) {
			requireField(collection, key, ["integer", "float"]);
			return (
				typeof value === "number" &&
				Object.entries(range as Record<string, number>).every(([name, bound]) => {
					if (typeof bound !== "number") throw new Refused(400, "Format error in JSON body: range");
					return RANGES[name]?.(value, bound) ?? false;
				})
			);
		}
		if (typeof match.value === "number" && !Number.isInteger(match.value))
			throw new Refused(
				400,
				"Format error in JSON body: data did not match any variant of untagged enum Match",
			);
		requireField(collection, key, ["keyword", "integer", "bool"]);
		return value === match.value;
	}

	const matching = (collection: Collection, filter: Json): Point[] =>
		[...collection.points.values()]
			.filter((point) => isMatch(collection, point, filter))
			.sort((a, b) => (a.id < b.id ? -1 : 1));

	function shown(point: Point, { with_payload = false, with_vector = false }: Json): Json {
		const fields = Array.isArray(with_payload)
			? with_payload
			: with_payload
				? Object.keys(point.payload)
				: [];
		const payload = fields.flatMap((field: string) =>
			field in point.payload ? [[field, point.payload[field]]] : [],
		);
		return {
			id: point.id,
			...(with_payload && { payload: Object.fromEntries(payload) }),
			...(with_vector && {
				vector: Object.fromEntries(with_vector.map((name: string) => [name, point.vector[name]])),
			}),
		};
	}

	function search(collection: Collection, body: Json): Json {
		const { filter, limit, query, using = "" } = body;
		const setting = collection.vectors[using];
		if (!setting) throw new Refused(400, `Wrong input: Not existing vector name error: ${using}`);
		vectorsOf(collection, { [using]: query });
		const scores = { Cosine: cosine, Dot: dot, Euclid: distance }[setting.distance];
		const sign = setting.distance === "Euclid" ? 1 : -1;
		const points = matching(collection, filter)
			.map((point) => ({
				...shown(point, body),
				score: Math.fround(scores?.(query, point.vector[using] ?? []) ?? 0),
			}))
			.sort((a, b) => sign * (a.score - b.score));
		return { points: points.slice(0, limit) };
	}

	function scroll(collection: Collection, body: Json): Json {
		const { filter, limit = 10, offset } = body;
		const from = offset === undefined ? "" : idsOf([offset])[0];
		const found = matching(collection, filter).filter(({ id }) => id >= (from ?? ""));
		return {
			points: found.slice(0, limit).map((point) => shown(point, body)),
			next_page_offset: found[limit]?.id ?? null,
		};
	}

	function upsert(collection: Collection, { points, update_mode = "upsert" }: Json): void {
		const read = points.map(({ id, payload = {}, vector }: Json) => ({
			...{ id: idsOf([id])[0], payload },
			vector: vectorsOf(collection, vector),
		}));
		for (const point of read) {
			if (update_mode === "insert_only" && collection.points.has(point.id)) continue;
			for (const [field, type] of collection.fields)
				if (field in point.payload && !isType[type]?.(point.payload[field])) continue;
			collection.points.set(point.id, point);
		}
	}

	/** By `points` or by `filter`. */
	const chosen = (collection: Collection, { filter, points }: Json): Point[] =>
		points ? idsOf(points).flatMap((id) => collection.points.get(id) ?? []) : matching(collection, filter);

	function answer(method: string, { pathname, searchParams }: URL, body: Json): Json {
		const [, root, name = "", ...path] = pathname.split("/").map(decodeURIComponent);
		if (root !== "collections") throw new Refused(404, "");
		const operation = `${method} ${path.join("/")}`.trim();
		if (operation === "PUT") {
			if (collections.has(name))
				throw new Refused(409, `Wrong input: Collection \`${name}\` already exists!`);
			const { vectors } = body;
			const named = "size" in vectors ? { "": vectors } : vectors;
			collections.set(name, { vectors: named, points: new Map(), fields: new Map() });
			return true;
		}
		if (operation === "DELETE") return collections.delete(name);
		const collection = collectionOf(name);
		const writes = /^(?:PUT points|PUT index|DELETE index|POST points\/(?:payload|delete))/;
		if (writes.test(operation) && searchParams.get("wait") !== "true")
			throw new Error("a write that is not awaited is not visible");
		const [, field = ""] = path;
		switch (operation) {
			case "GET":
				return { status: "green" };
			case "PUT index":
				collection.fields.set(body.field_name, body.field_schema);
				return { status: "completed" };
			case `DELETE index/${field}`:
				return collection.fields.delete(field);
			case "PUT points":
				return upsert(collection, body);
			case "POST points":
				return idsOf(body.ids).flatMap((id) => {
					const point = collection.points.get(id);
					return point ? shown(point, { with_payload: true, ...body }) : [];
				});
			case "POST points/query":
				return search(collection, body);
			case "POST points/scroll":
				return scroll(collection, body);
			case "POST points/count":
				return { count: matching(collection, body.filter).length };
			case "POST points/payload":
				for (const point of chosen(collection, body)) Object.assign(point.payload, body.payload);
				return {};
			case "POST points/delete":
				for (const { id } of chosen(collection, body)) collection.points.delete(id);
				return {};
			default:
				throw new Refused(404, "");
		}
	}

	const serve: typeof fetch = async (input, init) => {
		const request = new Request(input, init);
		const url = new URL(request.url);
		requests.push(`${request.method} ${url.pathname}`);
		try {
			if (apiKey !== undefined && request.headers.get("api-key") !== apiKey)
				throw new Refused(request.headers.has("api-key") ? 403 : 401, "Must provide an API key");
			const text = await request.text();
			if (text.length > MAX_BODY_BYTES) throw new Refused(413, "JSON payload is larger than allowed");
			if (text !== "" && request.headers.get("content-type") !== "application/json")
				throw new Refused(400, "Content type error");
			const result = answer(request.method, url, text === "" ? {} : JSON.parse(text)) ?? {};
			return Response.json({ result, status: "ok", time: 0.001 });
		} catch (error) {
			if (!(error instanceof Refused)) throw error;
			const { message, status } = error;
			return Response.json({ status: { error: message }, time: 0 }, { status });
		}
	};
	return { fetch: serve, collections, requests };
}
