/**
 * The binding `env.VECTORIZE` of a Worker: the runtime's own `VectorizeIndex` object (module `cloudflare-internal:vectorize-api`), connected to
 * the entrypoint `Vectorize`. The names of its inner bindings are those that Miniflare gives it for the hosted service.
 */
import type { ServiceDesignator, Worker_Binding } from "miniflare";
import * as z from "zod";
import { Problems } from "../src/config/problems.ts";
import { METADATA_TYPES, VECTOR_METRICS } from "../src/retrieval/vectors/records.ts";
import type { VectorizeOptions } from "./api.ts";
import type { Source } from "./options.ts";
import { serviceName } from "./services.ts";

const Fields = z.strictObject({
	index_name: z.string().regex(/^[A-Za-z0-9][\w-]{0,63}$/, {
		error: "expected the name of an index: up to 64 letters, digits, '_' and '-', found another text",
	}),
	dimensions: z.int().min(1).max(1_536).optional(),
	metric: z.enum(VECTOR_METRICS).optional(),
	metadata_indexes: z.record(z.string().min(1), z.enum(METADATA_TYPES)).optional(),
	delay_ms: z.int().min(0).max(600_000).optional(),
} satisfies Record<keyof VectorizeOptions, z.ZodType>);

type IndexFields = z.output<typeof Fields>;

/** Divides the options into those of the index and those of the gateway. Throws a `ConfigError`. */
export function readIndex(options: Readonly<Record<string, unknown>>): {
	index: IndexFields;
	others: Record<string, unknown>;
} {
	const names = Object.keys(Fields.shape);
	const entries = Object.entries(options);
	const own = entries.filter(([name]) => names.includes(name));
	const others = entries.filter(([name]) => !names.includes(name));
	const problems = new Problems();
	const index = problems.parse(Fields, Object.fromEntries(own), ["dev.options"]);
	problems.throwIfAny();
	if (!index) throw new TypeError("no problem and no value");
	return { index, others: Object.fromEntries(others) };
}

export function vectorizeBinding(name: string, source: Source, index: IndexFields): Worker_Binding {
	return {
		name,
		wrapped: {
			moduleName: "cloudflare-internal:vectorize-api",
			innerBindings: [
				{ name: "fetcher", service: designator(source, index) },
				{ name: "indexId", text: index.index_name },
				{ name: "indexVersion", text: "v2" },
				{ name: "useNdJson", json: "true" },
			],
		},
	};
}

/** The account and the index are in the props of the binding, which the Worker cannot change. */
function designator(source: Source, { index_name, ...shape }: IndexFields): ServiceDesignator {
	const { delay_ms: delayMs, dimensions, metadata_indexes: metadataIndexes, metric } = shape;
	const create = { delayMs, dimensions, metadataIndexes, metric };
	const props =
		source.kind === "url" ? { index: index_name } : { account: source.account, index: index_name, create };
	return { name: serviceName(source), entrypoint: "Vectorize", props: { json: JSON.stringify(props) } };
}
