/** A wrong setting has a sentence of ours. zod's own sentences for patterns and unions name neither what is expected nor an example. */
import { expect, it } from "vitest";
import * as z from "zod";
import { AiGatewaySchema } from "../../src/config/ai-gateway.ts";
import { configure } from "../../src/config/index.ts";
import { jobsSchema } from "../../src/config/jobs.ts";
import { LimitsSchema } from "../../src/config/limits.ts";
import { PoolSetting } from "../../src/config/pools.ts";
import { ResponsesSchema } from "../../src/config/responses.ts";
import { searchSchema } from "../../src/config/search.ts";
import { storageSchema } from "../../src/config/storage.ts";
import { vectorsSchema } from "../../src/config/vectors.ts";
import { Elements } from "../../src/gateways/dynamic/elements.ts";
import { GatewayCreate } from "../../src/gateways/settings.ts";

/** The kinds of the issues that the schema can have, and for which `explain` has no sentence. */
function unexplained(part: unknown, path: string, seen = new Set<unknown>()): string[] {
	if (typeof part !== "object" || part === null || seen.has(part)) return [];
	seen.add(part);
	if (part instanceof Map || part instanceof Set || part instanceof RegExp) return [];
	const definition = (part as { _zod?: { def?: Record<string, unknown> } })._zod?.def;
	const fields = definition ?? (part as Record<string, unknown>);
	const isSilent = definition !== undefined && definition.error === undefined;
	const isUnion = definition?.type === "union" && definition.discriminator === undefined;
	const own =
		isSilent && (definition.check === "string_format" || isUnion)
			? [`${path}: ${isUnion ? "union" : String(definition.format)}`]
			: [];
	return [
		...own,
		...Object.keys(fields).flatMap((name) =>
			unexplained(fields[name], name === "shape" ? path : `${path}/${name}`, seen),
		),
	];
}

it.each<[string, z.ZodType]>([
	["LIMITS", LimitsSchema],
	["AI_GATEWAY", AiGatewaySchema],
	["JOBS", jobsSchema({})],
	["RESPONSES", ResponsesSchema],
	["STORAGE", storageSchema({})],
	["VECTORS", vectorsSchema({})],
	["AI_SEARCH", searchSchema({})],
	["a pool", PoolSetting()],
	["a gateway", GatewayCreate()],
	["a dynamic route", Elements()],
])("%s has a sentence for each pattern and union", (name, schema) => {
	expect(unexplained(schema, name)).toEqual([]);
});

it("finds a pattern and a union without one", () => {
	const silent = z.strictObject({
		a: z.string().regex(/a/),
		b: z.union([z.string(), z.number()]),
		c: z.url(),
	});
	expect(unexplained(silent, "x").map((line) => line.replace(/.*: /, ""))).toEqual(["regex", "union", "url"]);
});

it("names the kinds of a union", () => {
	expect(() =>
		configure({ VECTORS: { stores: { pg: { kind: "pgvectr", url: "postgres://a@b/c" } } } }),
	).toThrow(
		'VECTORS.stores.pg.kind: expected "pgvector", "qdrant" or "vectorize", found "pgvectr"; did you mean "pgvector"?',
	);
	expect(() => configure({ VECTORS: { stores: { pg: {} } } })).toThrow(
		'VECTORS.stores.pg.kind: expected "pgvector", "qdrant" or "vectorize", found nothing',
	);
});

it("names the form of the name of a bucket", () => {
	expect(() => configure({ AI_SEARCH: { buckets: { "my bucket": { binding: "MANUALS" } } } })).toThrow(
		`AI_SEARCH.buckets["my bucket"]: expected a name such as "manuals", of up to 64 letters, digits, '.', '_' and '-', found another text`,
	);
});
