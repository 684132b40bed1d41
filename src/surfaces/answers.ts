/**
 * Schemas of answers, for the OpenAPI document. Handlers do not validate with them: a test calls each operation and compares. Fields
 * that are not listed may be added, as in the product.
 */
import * as z from "zod";
import type { Payload } from "../http/route.ts";

export const json = (schema: z.ZodType): Payload => ({ type: "application/json", schema });

const Code = z.object({ code: z.int(), message: z.string() });

/** Cloudflare's v4 envelope with this result. */
export const enveloped = (result: z.ZodType, info?: z.ZodType): Payload =>
	json(
		z.object({
			result,
			success: z.literal(true),
			errors: z.array(Code),
			messages: z.array(z.unknown()),
			...(info && { result_info: info }),
		}),
	);

/** An answer of a route that declares none. */
export const anyAnswer: Payload = json(z.object({ success: z.literal(true) }));

export const Instant = z.iso.datetime();
const Day = z.iso.date();
export const Count = z.number().min(0);
export const Page = z.object({
	page: Count,
	per_page: Count,
	count: Count,
	total_count: Count,
	total_pages: Count,
});
const Cursor = z.object({ count: Count, cursor: z.string().optional() });

export const webSearchAnswer = json(
	z.object({
		items: z.array(
			z.object({
				url: z.string(),
				title: z.string(),
				description: z.string().optional(),
				imageUrl: z.string().optional(),
				faviconUrl: z.string().optional(),
				lastModifiedDate: z.string().optional(),
			}),
		),
		metadata: z.object({ query: z.string(), requestId: z.string(), latencyMs: Count }),
	}),
);

export const standaloneSearchAnswer = json(z.object({ output: z.string() }));

export const openApiAnswer: Payload = json(z.object({ openapi: z.string(), paths: z.object({}) }));

export const statusAnswer: Payload = json(z.object({ status: z.enum(["ok", "ready", "unavailable"]) }));

const Task = z.object({ id: z.string(), name: z.string(), description: z.string() });
const Model = z.object({
	id: z.string(),
	source: z.int(),
	name: z.string(),
	description: z.string(),
	task: Task,
	created_at: z.string().optional(),
	tags: z.array(z.string()),
	properties: z.array(z.object({ property_id: z.string(), value: z.unknown() })),
});
export const modelsAnswer = enveloped(z.array(Model), Page);
const JsonSchema = z.record(z.string(), z.unknown());
export const modelSchemaAnswer = enveloped(z.object({ input: JsonSchema, output: JsonSchema }));
export const tasksAnswer = enveloped(z.array(Task));
export const authorsAnswer = enveloped(z.array(z.object({ name: z.string() })));

const Alias = z.object({
	alias: z.string(),
	model: z.string(),
	source: z.enum(["account", "configuration"]),
	modified_on: Instant.nullable(),
});
export const aliasAnswer = enveloped(Alias);
export const aliasesAnswer = enveloped(z.array(Alias));
export const deletedAliasAnswer = enveloped(z.object({ alias: z.string() }));

const TokenStatus = z.object({
	id: z.string(),
	status: z.enum(["active", "disabled", "expired"]),
	not_before: Instant.optional(),
	expires_on: Instant.optional(),
});
const Group = z.object({ id: z.string(), name: z.string().optional() });
const BoundGateway = z.object({
	id: z.string(),
	mode: z.enum(["required", "default"]),
	metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
	custom_cost: z.boolean().optional(),
});
export const boundGatewayAnswer = enveloped(BoundGateway.nullable());
const Token = TokenStatus.extend({
	name: z.string(),
	issued_on: Instant,
	modified_on: Instant,
	last_used_on: Instant.optional(),
	policies: z.array(
		z.object({
			id: z.string(),
			effect: z.enum(["allow", "deny"]),
			permission_groups: z.array(Group),
			resources: z.record(z.string(), z.unknown()),
		}),
	),
	limits: z
		.object({
			daily_neurons: Count.optional(),
			monthly_neurons: Count.optional(),
			requests_per_minute: Count.optional(),
		})
		.optional(),
	gateway: BoundGateway.optional(),
});
export const tokenAnswer = enveloped(Token);
export const tokensAnswer = enveloped(z.array(Token), Page);
export const createdTokenAnswer = enveloped(Token.extend({ value: z.string() }));
export const deletedTokenAnswer = enveloped(z.object({ id: z.string() }));
/** The text of a token. */
export const tokenValueAnswer = enveloped(z.string());
export const tokenStatusAnswer = enveloped(TokenStatus);
export const groupsAnswer = enveloped(
	z.array(z.object({ id: z.string(), name: z.string(), category: z.string(), scopes: z.array(z.string()) })),
);

const Counts = z.object({
	...{ requests: Count, failed: Count, neurons: Count },
	...{ input_tokens: Count, cached_tokens: Count, output_tokens: Count },
	/** Of vector indexes. Absent without any. */
	...{ vector_queries: Count.optional(), queried_dimensions: Count.optional() },
	stored_dimensions: z.number().optional(),
	/** The average over the requests with an answer. `null` without any. */
	average_latency_ms: Count.nullable(),
	average_time_to_first_token_ms: Count.nullable(),
});
const Period = { from: Day, to: Day, count: Count };
const Groups = {
	day: Day.optional(),
	model: z.string().nullish(),
	task: z.string().nullish(),
	token: z.string().nullish(),
	backend: z.string().nullish(),
};
/** Of `result_info` of a report. */
export const Report = { ...Period, group_by: z.array(z.string()), truncated: z.boolean() };
export const usageAnswer = enveloped(z.array(Counts.extend(Groups)), z.object({ ...Report, totals: Counts }));
export const refusedAnswer = enveloped(
	z.array(z.object({ ...Groups, code: z.int().optional(), requests: Count })),
	z.object({ ...Report, totals: z.object({ requests: Count }) }),
);
const RequestRow = z.object({
	id: z.string(),
	outcome: z.string(),
	code: z.int().optional(),
	model: z.string(),
	task: z.string(),
	token: z.string().nullable(),
	backend: z.string().nullable(),
	attempts: Count,
	/** The calls of engines. Absent if there was only one, without a failure. */
	calls: z
		.array(
			z.object({
				backend: z.string(),
				/** Milliseconds since the request. */
				started_ms: Count,
				failed_ms: Count.optional(),
				code: z.int().optional(),
			}),
		)
		.optional(),
	started_at: Instant,
	settled_at: Instant.optional(),
	latency_ms: Count.nullable(),
	time_to_first_token_ms: Count.optional(),
	input_tokens: Count,
	cached_tokens: Count,
	output_tokens: Count,
	neurons: Count,
	reserved_neurons: Count,
	estimated: z.boolean(),
	/** Only for the charge of a lease. */
	forgiven_at: Instant.optional(),
});
export const requestAnswer = enveloped(RequestRow);
export const requestsAnswer = enveloped(z.array(RequestRow), Cursor);

const Account = z.object({ id: z.string(), name: z.string(), type: z.string(), created_on: Instant });
export const accountsAnswer = enveloped(z.array(Account), Cursor);
export const placeAnswer = enveloped(z.object({ place: z.string(), moved: z.boolean() }));
export const accountsUsageAnswer = enveloped(
	z.array(Counts.extend({ account: z.string() })),
	z.object({ ...Period, cursor: z.string().optional() }),
);

const Replica = z.object({
	id: z.string(),
	url: z.string(),
	role: z.enum(["both", "prefill", "decode"]),
	state: z.enum(["active", "draining", "removed"]),
	source: z.enum(["configuration", "discovery", "api"]),
	circuit: z.enum(["closed", "half-open", "open"]),
	requests: Count.nullable(),
	prefill_tokens: Count.nullable(),
	decode_tokens: Count.nullable(),
	engine: z.object({ running: Count, waiting: Count, cache_usage: Count.nullable() }).nullable(),
});
const Pool = z.object({
	backend: z.string(),
	policy: z.string(),
	max_requests: Count.nullable(),
	/** Why the list of `discover` is not used as it is. */
	list_problem: z.string().nullable(),
	replicas: z.array(Replica),
});
const Engine = z.object({
	backend: z.string(),
	replica: z.string(),
	replica_id: z.string().nullable(),
	model: z.string(),
	circuit: z.enum(["closed", "half-open", "open"]),
	requests: Count,
	failures: Count,
	answers: Count,
	latency_ms: z.number().nullable(),
});
const RouteTarget = z.object({
	backend: z.string(),
	replicas: z.array(z.string()),
	model: z.string().optional(),
	weight: z.number().optional(),
	weights: z.string().optional(),
});
export const enginesAnswer = enveloped(
	z.object({
		routes: z.array(z.object({ pattern: z.string(), targets: z.array(RouteTarget) })),
		engines: z.array(Engine),
	}),
);
export const localModelsAnswer = enveloped(
	z.object({
		folder: z.string(),
		memory_bytes: Count.optional(),
		disk_free_bytes: Count.optional(),
		models: z.array(
			z.object({
				name: z.string(),
				size: Count,
				memory: Count.optional(),
				serves: z.array(z.string()).optional(),
				state: z.enum(["missing", "downloading", "unloaded", "loading", "loaded", "sleeping"]),
				problem: z.string().optional(),
			}),
		),
	}),
);
export const localModelAnswer = enveloped(z.object({ model: z.string() }));
export const poolsAnswer = enveloped(z.array(Pool));
export const poolAnswer = enveloped(Pool);
export const poolReplicaAnswer = enveloped(Replica);
export const removedReplicaAnswer = enveloped(z.object({ id: z.string() }));

export const explainAnswer = enveloped(
	z.object({
		model: z.string(),
		task: z.string().optional(),
		refused: z.array(z.object({ message: z.string() })),
		estimate: z.object({ neurons: Count }).optional(),
		targets: z.array(z.object({ backend: z.string(), kind: z.string() })).optional(),
	}),
);

export const responseTokensAnswer: Payload = json(
	z.object({ object: z.literal("response.input_tokens"), input_tokens: Count }),
);
export const messageTokensAnswer: Payload = json(z.object({ input_tokens: Count }));

/** OpenAI's format, or Anthropic's. */
const ListedModel = z.object({ id: z.string() });
export const listedModelAnswer: Payload = json(ListedModel);
export const listedModelsAnswer: Payload = json(z.object({ data: z.array(ListedModel) }));

const GeminiModel = z.object({ name: z.string(), supportedGenerationMethods: z.array(z.string()) });
export const geminiModelAnswer: Payload = json(GeminiModel);
export const geminiModelsAnswer: Payload = json(
	z.object({ models: z.array(GeminiModel), nextPageToken: z.string().optional() }),
);

export const formatsAnswer = enveloped(z.array(z.object({ extension: z.string(), mimeType: z.string() })));
