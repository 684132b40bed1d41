/**
 * Streams with the usage that engines send, from engines with a key and from pools, 10 ms between chunks.
 *
 * The gateway passes a stream on unread only if its caller could not see a difference; no form of usage may prevent that.
 */
import { Chunks, USAGE_SHAPES, type UsageShapeName, usagePath } from "./chunks.ts";
import type { GanglionOptions } from "./contenders.ts";
import { type Context, STREAMED_CHAT, start, startBoth, stopAll } from "./context.ts";
import { cpuRatios, noteOf } from "./ratios.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const CONNECTIONS = 32;
const WARM_UP_ANSWERS = 2 * CONNECTIONS;
const REPLICAS = 2;

/** The variable with the key. */
const KEY_NAME = "BENCH_ENGINE_KEY";

interface Access {
	label: string;
	/** The engine's settings. `urlOf`: the address of a replica. */
	backend(urlOf: (replica: number) => string): object;
}

/** How the gateway reaches an engine. */
const ACCESSES = {
	keyed: {
		label: "an engine with a key",
		backend: (urlOf) => ({ url: urlOf(1), key: KEY_NAME }),
	},
	pooled: {
		label: `a pool of ${REPLICAS} replicas`,
		backend: (urlOf) => ({ pool: { replicas: Array.from({ length: REPLICAS }, (_, i) => urlOf(i + 1)) } }),
	},
} satisfies Record<string, Access>;

const ACCESS_NAMES = Object.keys(ACCESSES) as (keyof typeof ACCESSES)[];
const SHAPE_NAMES = Object.keys(USAGE_SHAPES) as UsageShapeName[];

export async function usageShapes(context: Context): Promise<Row[]> {
	const pair = await startBoth(
		() => start(context, "ganglion", settingsOfShapes(context.field.upstream.url)),
		() => start(context, "floor"),
	);
	const [ganglion] = pair;
	const rows: Row[] = [];
	try {
		for (const access of ACCESS_NAMES)
			for (const shape of SHAPE_NAMES) {
				const model = `${access}/${shape}`;
				const body = JSON.stringify({ model, ...STREAMED_CHAT });
				const ratios = await cpuRatios(
					context,
					pair,
					(contender) => {
						const ask = contender.ask("steady", STREAMED_CHAT);
						if (contender === ganglion) return { ...ask, body };
						return { url: `${new URL(ask.url).origin}${usagePath(model)}/chat/completions`, body };
					},
					{ connections: CONNECTIONS, warmUpAnswers: WARM_UP_ANSWERS },
				);
				rows.push({
					label: `stream of ${ACCESSES[access].label}, 10 ms apart, usage ${USAGE_SHAPES[shape].label}: CPU a chunk / floor`,
					measured: spread(ratios.map(({ ratio }) => ratio)),
					unit: "x",
					...{ bar: 1.7, stretch: 1.5 },
					note: noteOf(ratios, { pieces: new Chunks(model, shape).all.length, second: "floor" }),
				});
			}
		return rows;
	} finally {
		await stopAll(pair);
	}
}

/** A backend and a route for each access and form. The engine knows the model by the name that callers use. */
export function settingsOfShapes(
	upstream: string,
): Required<Pick<GanglionOptions, "backends" | "routes" | "secrets">> {
	const models = ACCESS_NAMES.flatMap((access) =>
		SHAPE_NAMES.map((shape) => ({ model: `${access}/${shape}`, name: `${access}-${shape}`, access })),
	);
	return {
		backends: Object.fromEntries(
			models.map(({ model, name, access }) => [
				name,
				{ kind: "openai", ...ACCESSES[access].backend((replica) => upstream + usagePath(model, replica)) },
			]),
		),
		routes: Object.fromEntries(models.map(({ model, name }) => [model, [{ backend: name }]])),
		secrets: { [KEY_NAME]: "the-key-of-an-engine" },
	};
}
