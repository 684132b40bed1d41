/** Paced streams beside queries of a vector index: by how much the queries delay the chunks of the streams. All run in one process. */
import { type Context, STREAMED_CHAT, start } from "./context.ts";
import { warmUp } from "./load.ts";
import { passing, STREAMS } from "./paced.ts";
import { quantile, spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { apiAt, createIndex, DIMENSIONS, nearest, randomVector, VECTORS } from "./vectors.ts";

const WARM_UP_ANSWERS = 150;
const WARM_UP_MS = 30_000;
const WARM_UP_QUERIES = 5;
/** Made before the streams: the process that makes them also reads the streams. */
const QUERY_VECTORS = 500;

export async function streamsBesideQueries(context: Context): Promise<Row[]> {
	const contender = await start(context, "operator");
	try {
		const { body, headers, url } = contender.ask("paced", STREAMED_CHAT);
		const api = apiAt(new URL(url).origin);
		await createIndex(api, Array.from({ length: VECTORS }, randomVector));
		context.say("  uploaded");
		for (let query = 0; query < WARM_UP_QUERIES; query++) await nearest(api, randomVector());
		const bulk = contender.ask("bulk", STREAMED_CHAT);
		await warmUp([{ ask: bulk, connections: 4 }], WARM_UP_ANSWERS, WARM_UP_MS);
		const vectors = Array.from({ length: QUERY_VECTORS }, randomVector);
		const ask = { url, body, ...(headers && { headers }) };
		const growths: number[] = [];
		let queries = 0;
		for (let round = 0; round <= context.rounds; round++) {
			const alone = delay99(await passing(ask, STREAMS));
			const isOver = { value: false };
			const querying = (async () => {
				for (; !isOver.value; queries++) await nearest(api, vectors[queries % QUERY_VECTORS] ?? []);
			})();
			const beside = delay99(await passing(ask, STREAMS));
			isOver.value = true;
			await querying;
			// The first round opens the connections.
			if (round > 0) growths.push(beside - alone);
		}
		return [
			{
				label: `p99 delay of a chunk, ${STREAMS} streams beside queries of ${VECTORS} vectors with ${DIMENSIONS} dimensions, above the same without`,
				...{ measured: spread(growths), unit: "ms", bar: 10, stretch: 3 },
				note: `${queries} queries, one after another`,
			},
		];
	} finally {
		await contender.stop();
	}
}

const delay99 = (passed: Awaited<ReturnType<typeof passing>>): number =>
	quantile(
		passed.flatMap(({ delays }) => delays),
		0.99,
	);
