/** Vector indexes of the kind `builtin`, over REST: the time of an upload and of a query, and the recall against sums in float64. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { serve } from "../../scripts/workerd.ts";
import { BUILT } from "./contenders.ts";
import type { Context } from "./context.ts";
import { exactly, spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN } from "./token.ts";

export const DIMENSIONS = 768;
export const VECTORS = 20_000;
/** 18 MB of lines. */
const UPLOADED_AT_ONCE = 2_500;
/** Vectors of the bar of uploads. */
const MEASURED_UPLOAD = 10_000;
const QUERIES = 41;
const WARM_UP_QUERIES = 5;
const RECALL_QUERIES = 5;
const TOP_K = 10;
/** Scores that differ less are equal. */
const EQUAL_SCORES = 1e-6;
const DIGITS = 6;

export async function vectorIndexes({ field, say }: Context): Promise<Row[]> {
	const folder = join(field.folder, "vectors");
	mkdirSync(folder);
	const served = await serve(
		{
			name: "ganglion",
			modules: modulesIn(BUILT),
			vars: { ADMIN_TOKEN, DEFAULT_BACKEND: "simulator" },
			...runtimeSettings(),
		},
		await freePort(),
		folder,
	);
	try {
		const api = apiAt(served.url);
		const vectors = Array.from({ length: VECTORS }, randomVector);
		const uploads = await createIndex(api, vectors);
		say("  uploaded");
		for (let query = 0; query < WARM_UP_QUERIES; query++) await nearest(api, randomVector());
		const times: number[] = [];
		for (let query = 0; query < QUERIES; query++) {
			const vector = randomVector();
			const begun = performance.now();
			await nearest(api, vector);
			times.push(performance.now() - begun);
		}
		const found = await recall(api, vectors);
		return [
			{
				label: `a query of ${VECTORS} vectors with ${DIMENSIONS} dimensions: p50`,
				...{ measured: spread(times), unit: "ms", bar: 50, stretch: 15 },
			},
			{
				label: `an upload of ${MEASURED_UPLOAD} vectors with ${DIMENSIONS} dimensions over REST`,
				...{ measured: exactly(uploads), unit: "ms", bar: 10_000, stretch: 3_000 },
			},
			{
				label: `the ${TOP_K} nearest vectors that a query does not find`,
				...{ measured: exactly(1 - found), unit: "", bar: 0 },
				note: `recall@${TOP_K} ${found} of ${RECALL_QUERIES} queries`,
			},
		];
	} finally {
		await served.stop();
	}
}

type Api = (path: string, body: string | object) => Promise<{ matches: { id: string }[] }>;

export const apiAt =
	(url: string): Api =>
	async (path, body) => {
		const response = await fetch(`${url}/client/v4/accounts/bench/vectorize/v2/indexes${path}`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${ADMIN_TOKEN}`,
				"content-type": typeof body === "string" ? "application/x-ndjson" : "application/json",
			},
			body: typeof body === "string" ? body : JSON.stringify(body),
		});
		if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
		const { result } = (await response.json()) as { result: Awaited<ReturnType<Api>> };
		return result;
	};

/** Milliseconds of the uploads of {@link MEASURED_UPLOAD} vectors. */
export async function createIndex(api: Api, vectors: readonly number[][]): Promise<number> {
	await api("", { name: "bench", config: { dimensions: DIMENSIONS, metric: "cosine" } });
	let measured = 0;
	for (let start = 0; start < vectors.length; start += UPLOADED_AT_ONCE) {
		const lines = vectors
			.slice(start, start + UPLOADED_AT_ONCE)
			.map((values, at) => JSON.stringify({ id: String(start + at), values, metadata: { page: start + at } }))
			.join("\n");
		const begun = performance.now();
		await api("/bench/insert", lines);
		if (start < MEASURED_UPLOAD) measured += performance.now() - begun;
	}
	return measured;
}

export async function nearest(api: Api, vector: readonly number[]): Promise<number[]> {
	const { matches } = await api("/bench/query", { vector, topK: TOP_K });
	return matches.map(({ id }) => Number(id));
}

/** The share of the nearest vectors that queries find, by their cosine in float64. */
async function recall(api: Api, vectors: readonly number[][]): Promise<number> {
	let found = 0;
	for (let query = 0; query < RECALL_QUERIES; query++) {
		const vector = randomVector();
		const scores = vectors.map((values) => product(vector, values) / Math.sqrt(product(values, values)));
		const last = scores.toSorted((a, b) => b - a)[TOP_K - 1] ?? Number.NaN;
		const length = Math.sqrt(product(vector, vector));
		for (const id of await nearest(api, vector))
			if (((scores[id] ?? Number.NaN) - last) / length >= -EQUAL_SCORES) found++;
	}
	return found / (RECALL_QUERIES * TOP_K);
}

export const randomVector = (): number[] =>
	Array.from({ length: DIMENSIONS }, () => Number((Math.random() - 0.5).toFixed(DIGITS)));

function product(a: readonly number[], b: readonly number[]): number {
	let sum = 0;
	for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
	return sum;
}
