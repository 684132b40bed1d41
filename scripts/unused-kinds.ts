/**
 * The kinds of backends and of vector stores that a deployment cannot need. Only `BACKENDS` can name these backends, because no provider of
 * `PROVIDERS` has them, and an account's or a caller's key is always that of a provider. Only `VECTORS` can name a store.
 */
import * as z from "zod";
import { BACKEND_KINDS, type BackendKind } from "../src/backends/kinds.ts";
import { PROVIDERS } from "../src/providers/providers.ts";
import { STORE_KINDS, type StoreSetting } from "../src/retrieval/vectors/stores/store-settings.ts";
import { parseConfigFile } from "./config-file.ts";

const Kinds = z.record(z.string(), z.looseObject({ kind: z.string() }));
const Vectors = z.looseObject({ stores: Kinds.default({}) });

/** An object, or its JSON text. */
const variable = <Schema extends z.ZodType>(schema: Schema) =>
	z.union([
		schema,
		z
			.string()
			.transform((text) => JSON.parse(text))
			.pipe(schema),
	]);

const Environment = z.looseObject({
	vars: z.looseObject({ BACKENDS: variable(Kinds), VECTORS: variable(Vectors).default({ stores: {} }) }),
});
const ConfigFile = Environment.extend({
	/** wrangler keeps variables of the dashboard, which may be others. */
	keep_vars: z.literal(false).optional(),
	env: z.record(z.string(), Environment).optional(),
});

/** Kinds that a deployment can leave out. */
type OptionalKind = Exclude<BackendKind, "openai" | "simulator">;

const keyed = new Set<string>(Object.values(PROVIDERS).map(({ kind }) => kind));
const ONLY_CONFIGURED = BACKEND_KINDS.filter(
	(kind): kind is OptionalKind => kind !== "openai" && kind !== "simulator" && !keyed.has(kind),
);

/**
 * Counts all environments of the file, because a build cannot detect which one wrangler deploys. Returns none if an environment has no
 * readable `BACKENDS`: a secret or the dashboard may have them.
 */
export function unusedKinds(file: string): (OptionalKind | StoreSetting["kind"])[] {
	const parsed = safelyParsed(file);
	if (!parsed) return [];
	const environments = [parsed, ...Object.values(parsed.env ?? {})];
	const named = environments.flatMap(({ vars }) => [vars.BACKENDS, vars.VECTORS.stores]);
	const used = named.flatMap((settings) => Object.values(settings).map(({ kind }) => kind));
	return [...ONLY_CONFIGURED, ...STORE_KINDS].filter((kind) => !used.includes(kind));
}

function safelyParsed(file: string): z.output<typeof ConfigFile> | undefined {
	try {
		return ConfigFile.safeParse(parseConfigFile(file)).data;
	} catch {
		// wrangler reads the same file, and reports its errors.
		return undefined;
	}
}
