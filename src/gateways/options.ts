/**
 * Options of a request to a gateway: the `cf-aig-*` headers, or `options.gateway` of the binding. The headers of a universal step
 * have precedence over those of the request, and those over the settings of the gateway. An invalid value is ignored, as in
 * the product.
 */
import * as z from "zod";
import { BoundedMap } from "../core/bounded-map.ts";
import { isRecord, parseJson } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { own } from "../core/own.ts";
import { spanIn, TRACEPARENT } from "../outbound/passed-headers.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { textFlag } from "../schemas/text-flag.ts";
import { Backoff } from "./settings.ts";

export interface GatewayOptions {
	/** Does not read the cache. */
	skipCache?: boolean | undefined;
	/** Seconds. */
	cacheTtl?: number | undefined;
	/** Replaces the key that the gateway calculates. */
	cacheKey?: string | undefined;
	collectLog?: boolean | undefined;
	/** False: the log has no request and no response. */
	collectLogPayload?: boolean | undefined;
	metadata?: Metadata | undefined;
	eventId?: string | undefined;
	/** Milliseconds until the first byte of an attempt. */
	requestTimeout?: number | undefined;
	maxAttempts?: number | undefined;
	/** Milliseconds. */
	retryDelay?: number | undefined;
	backoff?: Backoff | undefined;
	customCost?: CustomCost | undefined;
	byokAlias?: string | undefined;
	/** The operator's key of a provider is not used. */
	noWholesale?: boolean | undefined;
	/** 32 and 16 hexadecimal digits. */
	otelTraceId?: string | undefined;
	otelParentSpanId?: string | undefined;
	/** The stream of the answer can be resumed. */
	resumable?: boolean | undefined;
	/** Of `cloudflare/auto`: models and slugs of providers. `*` matches any text without a slash. */
	allowedModels?: readonly string[] | undefined;
	excludedModels?: readonly string[] | undefined;
	allowedProviders?: readonly string[] | undefined;
	/** Each turn of a conversation chooses its model anew. */
	noSessionAffinity?: boolean | undefined;
	/** The id of the caller's token. Set by the gateway. */
	token?: string;
	/** The token may name costs. Set by the gateway. */
	trustsCost?: true;
}

type Metadata = Readonly<Record<string, string | number | boolean>>;

export const MAX_METADATA = 5;
/** The product removes these keys. */
const RESERVED = /^cf\./;

/** US dollars. */
const Dollars = z.number().min(0).max(1_000_000_000);
const CustomCost = lazy(() =>
	z.object({
		per_token_in: Dollars.optional(),
		per_token_out: Dollars.optional(),
		per_cache_read_token: Dollars.optional(),
		per_cache_write_token: Dollars.optional(),
		total_cost: Dollars.optional(),
	}),
);
export type CustomCost = z.infer<ReturnType<typeof CustomCost>>;

const Flag = lazy(() => z.union([z.boolean(), textFlag()]));
/** A list, or a text with commas. */
const Names = lazy(() =>
	z.preprocess(
		(value) =>
			typeof value === "string"
				? value
						.split(",")
						.map((name) => name.trim())
						.filter(Boolean)
				: value,
		z.array(z.string().min(1).max(256)).min(1).max(100),
	),
);
const json = (value: unknown): unknown => (typeof value === "string" ? parseJson(value) : value);
const integer = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
/** Visible ASCII, because a response header repeats it. */
const EventId = lazy(() => z.string().regex(/^[\x21-\x7e]{1,256}$/));
const hexadecimal = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`, "i"));

const MONTH_SECONDS = 31 * 24 * 3_600;
const MAX_TIMEOUT_MS = 3_600_000;

/** If one value is invalid, the product drops all. Of more than five entries, the first five are kept. */
export const MetadataSchema = lazy(() =>
	z
		.record(
			z.string(),
			z.union([z.string(), z.number(), z.boolean()], "expected a text, a number, true or false"),
		)
		.transform(
			(metadata): Metadata =>
				Object.fromEntries(
					Object.entries(metadata)
						.filter(([key]) => !RESERVED.test(key))
						.slice(0, MAX_METADATA),
				),
		),
);

/** The name of the field in `options.gateway`, the header, and the schema. */
const FIELDS = {
	skipCache: ["cf-aig-skip-cache", Flag],
	cacheTtl: ["cf-aig-cache-ttl", () => integer(0, MONTH_SECONDS)],
	cacheKey: ["cf-aig-cache-key", () => z.string().min(1).max(1_024)],
	collectLog: ["cf-aig-collect-log", Flag],
	collectLogPayload: ["cf-aig-collect-log-payload", Flag],
	metadata: ["cf-aig-metadata", () => z.preprocess(json, MetadataSchema())],
	eventId: ["cf-aig-event-id", EventId],
	requestTimeout: ["cf-aig-request-timeout", () => integer(1, MAX_TIMEOUT_MS)],
	maxAttempts: ["cf-aig-max-attempts", () => integer(1, 5)],
	retryDelay: ["cf-aig-retry-delay", () => integer(0, 60_000)],
	backoff: ["cf-aig-backoff", Backoff],
	customCost: ["cf-aig-custom-cost", () => z.preprocess(json, CustomCost())],
	noWholesale: ["cf-aig-no-wholesale", Flag],
	byokAlias: ["cf-aig-byok-alias", () => z.string().min(1).max(64)],
	resumable: ["cf-aig-resumable", Flag],
	allowedModels: ["cf-aig-allowed-models", Names],
	excludedModels: ["cf-aig-excluded-models", Names],
	allowedProviders: ["cf-aig-allowed-providers", Names],
	noSessionAffinity: ["cf-aig-no-session-affinity", Flag],
	otelTraceId: ["cf-aig-otel-trace-id", () => hexadecimal(32)],
	otelParentSpanId: ["cf-aig-otel-parent-span-id", () => hexadecimal(16)],
} as const satisfies Record<string, readonly [string, () => z.ZodType]>;

/** Older names of headers that clients still send. */
const LEGACY: Readonly<Record<string, string>> = {
	"cf-aig-cache-ttl": "cf-cache-ttl",
	"cf-aig-skip-cache": "cf-skip-cache",
};

/** Results of one parser. If there are more, all are dropped. */
const MAX_REMEMBERED = 100;
/** Characters. The result of a longer text is not cached. */
const MAX_REMEMBERED_TEXT = 1_024;

/**
 * Returns the parser of an option. Its result is `undefined` for an invalid value. It caches the results of texts, because headers of
 * many requests have the same values, and a lookup is faster than a schema. These requests get the same object, so no request may
 * change it.
 */
function parserOf(schema: () => z.ZodType): (value: unknown) => unknown {
	const results = new BoundedMap<string, unknown>(MAX_REMEMBERED);
	return (value) => {
		if (typeof value !== "string" || value.length > MAX_REMEMBERED_TEXT)
			return safeParse(schema(), value).data;
		if (results.has(value)) return results.get(value);
		const result = safeParse(schema(), value).data;
		results.set(value, result);
		return result;
	};
}

const PARSERS = Object.entries(FIELDS).map(([name, [header, schema]]) => ({
	name,
	header,
	parse: parserOf(lazy<z.ZodType>(schema)),
}));

function optionsFrom(read: (name: string, header: string) => unknown): GatewayOptions {
	const options: Record<string, unknown> = {};
	for (const { name, header, parse } of PARSERS) {
		const value = read(name, header);
		if (value === undefined || value === null) continue;
		const parsed = parse(value);
		if (parsed !== undefined) options[name] = parsed;
	}
	return options;
}

export function optionsInHeaders(headers: Headers): GatewayOptions {
	// One call of the runtime. Each `get` is another, and so is each step of an iteration.
	const values: Partial<Record<string, string>> = {};
	headers.forEach((value, name) => {
		if (name.startsWith("cf-") || name === TRACEPARENT) values[name] = value;
	});
	const options = optionsFrom((_, header) => values[header] ?? values[own(LEGACY, header) ?? header]);
	if (values[TRACEPARENT] === undefined || options.otelTraceId !== undefined) return options;
	const span = spanIn(values[TRACEPARENT]);
	return span ? { otelTraceId: span.trace, otelParentSpanId: span.parent, ...options } : options;
}

/** `options.gateway` of `env.AI.run`. */
export function optionsInBinding(gateway: unknown): GatewayOptions {
	if (!isRecord(gateway)) return {};
	const retries = isRecord(gateway.retries) ? gateway.retries : {};
	const values: Record<string, unknown> = {
		requestTimeout: gateway.requestTimeoutMs,
		maxAttempts: retries.maxAttempts,
		retryDelay: retries.retryDelayMs,
		backoff: retries.backoff,
		...gateway,
	};
	return optionsFrom((name) => values[name]);
}

/** The options of a run on the binding: `options.gateway`, and then its headers. */
export const optionsOfRun = (gateway: unknown, headers: Headers): GatewayOptions =>
	mergedOptions(optionsInBinding(gateway), optionsInHeaders(headers));

/** `config` of a universal step: its fields have the names of {@link GatewayOptions}. */
export const optionsInConfig = (config: unknown): GatewayOptions =>
	isRecord(config) ? optionsFrom((name) => config[name]) : {};

/** The first has precedence. */
export const mergedOptions = (...options: readonly GatewayOptions[]): GatewayOptions =>
	Object.assign({}, ...options.toReversed());
