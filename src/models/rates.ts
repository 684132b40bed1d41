/**
 * The product's rate limits: requests per minute and account (developers.cloudflare.com/workers-ai/platform/limits,
 * 2026-08). Text-to-speech is not listed there, so it has no limit.
 */
import { can, type Model } from "./model.ts";
import { TASK_ROWS, TASK_TITLES, type TaskTitle, type TitleRow } from "./tasks.ts";

export const TASK_RATES: Readonly<Partial<Record<TaskTitle, number>>> = Object.fromEntries(
	TASK_TITLES.flatMap((title) => {
		const { rate }: TitleRow = TASK_ROWS[title];
		return rate === undefined ? [] : [[title, rate]];
	}),
);

/**
 * Requests that run no model here: `toMarkdown`, the routes that count tokens, requests that a gateway passes to a provider, web searches,
 * and queries of vector indexes. Only web searches are billed.
 */
export const COUNTED_TITLES = [
	"Markdown Conversion",
	"Token Count",
	"Provider Request",
	"Web Search",
	"Vector Query",
] as const;
export type CountedTitle = (typeof COUNTED_TITLES)[number];

/** The product documents no limit for them. Coding agents count tokens several times a turn. */
export const COUNTED_RATES: Readonly<Record<CountedTitle, number>> = {
	"Markdown Conversion": 600,
	"Token Count": 3000,
	"Provider Request": 3000,
	"Web Search": 600,
	"Vector Query": 3000,
};

/** Limits of single models. A `Map`, because an id comes from the caller and may be `__proto__`. */
const MODEL_RATES: ReadonlyMap<string, number> = new Map([
	["@cf/baai/bge-large-en-v1.5", 1500],
	["@hf/thebloke/mistral-7b-instruct-v0.1-awq", 400],
	["@cf/microsoft/phi-2", 720],
	["@cf/qwen/qwen1.5-0.5b-chat", 1500],
	["@cf/qwen/qwen1.5-1.8b-chat", 720],
	["@cf/qwen/qwen1.5-14b-chat-awq", 150],
	["@cf/tinyllama/tinyllama-1.1b-chat-v1.0", 720],
	["@cf/runwayml/stable-diffusion-v1-5-img2img", 1500],
]);

/** Limit of every model that requires the paid plan. */
const FRONTIER_RATE = 20;

export const modelRate = (model: Model): number | undefined =>
	MODEL_RATES.get(model.id) ?? (can(model, "require_workers_paid") ? FRONTIER_RATE : undefined);
