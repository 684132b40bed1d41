/** The schema of a model in the catalogue. `catalog.json` has the product's; operators add their own with `MODELS`. */
import * as z from "zod";
import { INPUT_SHAPES, OUTPUT_SHAPES } from "./family.ts";
import { TASK_TITLES } from "./tasks.ts";

export const CAPABILITIES = [
	"function_calling",
	"json_mode",
	"guided_json",
	"lora",
	"async_queue",
	"vision",
	"reasoning",
	"streaming",
	"realtime",
	"beta",
	"partner",
	"require_workers_paid",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** Billing units, named as on the pricing page. */
export const PRICE_UNITS = [
	"per M input tokens",
	"per M cached input tokens",
	"per M cache write tokens",
	"per M output tokens",
	"per M input image tokens",
	"per M cached input image tokens",
	"per M output image tokens",
	"per 512x512 tile",
	"per step",
	"per input 512x512 tile",
	"per output 512x512 tile",
	"per input 512x512 tile, per step",
	"per output 512x512 tile, per step",
	"per first MP (1024x1024)",
	"per subsequent MP",
	"per input image MP",
	"per M images",
	"per inference request",
	"per 1k characters input",
	"per audio minute",
	"per audio minute (WebSocket)",
	"per audio minute input",
	"per audio minute input (WebSocket)",
] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

/** The APIs in which a provider takes requests for a model, as the product names them. */
const REQUEST_FORMATS = ["responses", "chat-completions", "anthropic-messages"] as const;

export const Price = z.strictObject({
	unit: z.enum(PRICE_UNITS),
	neurons: z.number().nonnegative(),
	usd: z.number().nonnegative(),
	/** Input tokens of a request above which it costs this price, instead of the price of the unit with a lower threshold or none. */
	aboveInputTokens: z.number().int().positive().optional(),
});
export type Price = z.output<typeof Price>;

export const Model = z.strictObject({
	/** `@cf/author/model` */
	id: z.string().min(1),
	uuid: z.string(),
	/** 1: Cloudflare's own; 2: `@hf/`; 3: third party; 0: the operator's. */
	source: z.number().int(),
	task: z.enum(TASK_TITLES),
	/** Empty if the id names no author (`llama3.2`). */
	author: z.string(),
	/** `YYYY-MM-DD`, or empty if unknown. */
	created: z.string(),
	description: z.string(),
	/** `adhoc`: named by a route, in no catalogue. */
	status: z.enum(["active", "gated", "unlisted", "deprecated", "removed", "adhoc"]),
	/** `YYYY-MM-DD` from which the product answers 5028. */
	deprecated: z.string().optional(),
	replacedBy: z.string().optional(),
	/** Tokens of input and output together. */
	contextWindow: z.number().int().positive().optional(),
	/** Tokens of one text, if less than the context window (embeddings). */
	maxInputTokens: z.number().int().positive().optional(),
	/** Vector length of an embeddings model. */
	dimensions: z.number().int().positive().optional(),
	input: z.enum(INPUT_SHAPES),
	output: z.enum(OUTPUT_SHAPES),
	/** The APIs in which its provider takes requests. Absent: unknown. */
	requestFormats: z.array(z.enum(REQUEST_FORMATS)).optional(),
	/** Names of the input fields, if the model accepts fewer than its shape has. */
	inputFields: z.array(z.string()).optional(),
	/** Defaults of the input fields. */
	defaults: z.record(z.string(), z.unknown()),
	capabilities: z.array(z.enum(CAPABILITIES)),
	/** The product's `reasoning_effort` property, unchanged. */
	reasoningEffort: z
		.strictObject({
			mandatory: z.boolean(),
			default_enabled: z.boolean(),
			supported_efforts: z.array(z.string()).optional(),
			default_effort: z.string().optional(),
			/** Efforts that are treated as another one. The key `null` stands for an absent effort. */
			normalizes_to: z.record(z.string(), z.string()).optional(),
		})
		.optional(),
	prices: z.array(Price),
	/** Source of `prices`, if other than the catalogue or `MODELS`. */
	priceSource: z.enum(["backend", "default"]).optional(),
	tags: z.array(z.string()),
});
export type Model = z.output<typeof Model>;

/** Whether the id is of a model of Workers AI, such as `@cf/meta/llama-3.1-8b-instruct`. */
export const isProductId = (id: string): boolean => id.startsWith("@");

export const isOperatorModel = ({ source }: Pick<Model, "source">): boolean => source === 0;

export const can = (model: Model, capability: Capability): boolean => model.capabilities.includes(capability);
