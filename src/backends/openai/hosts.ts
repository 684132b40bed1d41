/**
 * Which fields of a chat the hosted services that copied OpenAI's routes take, by their public API references and the
 * refusals that they are known for: some answer 400 to a field that they do not know. An engine that is not here is sent
 * everything: engines ignore what they do not know.
 *
 * What a service has no field for is left out. `n` is not: it refuses that itself, and nobody gets one answer for many.
 */
import type { Target } from "../backend.ts";

export interface Host {
	limit: "max_tokens" | "max_completion_tokens";
	/** Fields of OpenAI's that it does not take. */
	without?: readonly string[];
	/** Fields that OpenAI, or everybody else, has not. */
	also?: readonly string[];
	/** Its name for the seed. */
	seed?: string;
	/** Where an assistant's message has its thoughts. Absent: they do not go back. */
	thoughts?: "reasoning" | "reasoning_content";
	/** Calls go back with Gemini's signatures. */
	signed?: true;
	/** What turns thinking off. */
	unthinking?: Readonly<Record<string, unknown>>;
}

/** Sampling that only self-hosted engines have. */
export const ENGINE_SAMPLING = ["min_p", "mirostat", "mirostat_tau", "mirostat_eta", "grammar"] as const;

/** Fields of engines (vLLM, SGLang, llama.cpp), and those that are passed through to OpenAI: only for those that name them. */
const PARTICULAR: ReadonlySet<string> = new Set([
	"top_k",
	"repetition_penalty",
	"repeat_penalty",
	"chat_template_kwargs",
	"skip_special_tokens",
	"continue_final_message",
	"add_generation_prompt",
	"audio",
	"function_call",
	"functions",
	...ENGINE_SAMPLING,
	"metadata",
	"modalities",
	"prediction",
	"service_tier",
	"store",
	"web_search_options",
]);

const NOT_THINKING = { thinking: { type: "disabled" } };
const LOGPROBS = ["logprobs", "top_logprobs"];
const PENALTIES = ["frequency_penalty", "presence_penalty"];

export const HOSTS: Readonly<Record<string, Host>> = {
	"api.cerebras.ai": { limit: "max_completion_tokens", without: [...PENALTIES, "logit_bias"] },
	"api.cohere.ai": {
		limit: "max_tokens",
		without: ["logit_bias", "parallel_tool_calls", "top_logprobs", "user"],
	},
	"api.deepseek.com": {
		limit: "max_tokens",
		without: ["logit_bias", "parallel_tool_calls", "seed", "user"],
		thoughts: "reasoning_content",
		unthinking: NOT_THINKING,
	},
	"api.fireworks.ai": {
		limit: "max_tokens",
		also: ["metadata", "prediction", "repetition_penalty", "service_tier", "top_k"],
		thoughts: "reasoning_content",
		unthinking: { reasoning_effort: "none" },
	},
	"api.groq.com": {
		limit: "max_completion_tokens",
		without: ["logit_bias", ...LOGPROBS],
		also: ["service_tier"],
	},
	"api.minimax.io": {
		limit: "max_completion_tokens",
		without: ["logit_bias", ...LOGPROBS, ...PENALTIES, "seed"],
	},
	"api.mistral.ai": {
		limit: "max_tokens",
		without: ["logit_bias", ...LOGPROBS, "reasoning_effort", "stream_options", "user"],
		also: ["metadata", "prediction"],
		seed: "random_seed",
	},
	"api.moonshot.ai": {
		limit: "max_tokens",
		without: ["logit_bias", ...LOGPROBS, "parallel_tool_calls", "reasoning_effort", "seed", "user"],
		thoughts: "reasoning_content",
		unthinking: NOT_THINKING,
	},
	"api.perplexity.ai": {
		limit: "max_tokens",
		without: ["logit_bias", "parallel_tool_calls", "seed", "user"],
		also: ["top_k", "web_search_options"],
	},
	// Its models all think, and those refuse the penalties.
	"api.x.ai": {
		limit: "max_completion_tokens",
		without: ["logit_bias", ...PENALTIES],
		thoughts: "reasoning_content",
	},
	"api.z.ai": {
		limit: "max_tokens",
		without: [
			"logit_bias",
			...LOGPROBS,
			"parallel_tool_calls",
			...PENALTIES,
			"reasoning_effort",
			"seed",
			"user",
		],
		thoughts: "reasoning_content",
		unthinking: NOT_THINKING,
	},
	"dashscope-intl.aliyuncs.com": {
		limit: "max_tokens",
		without: ["logit_bias", "reasoning_effort", "user"],
		also: ["repetition_penalty", "top_k"],
		thoughts: "reasoning_content",
		unthinking: { enable_thinking: false },
	},
	"generativelanguage.googleapis.com": {
		limit: "max_tokens",
		without: ["logit_bias", "user"],
		signed: true,
		unthinking: { reasoning_effort: "none" },
	},
	"openrouter.ai": {
		limit: "max_tokens",
		also: ["audio", "modalities", "prediction", "repetition_penalty", "top_k", "web_search_options"],
		thoughts: "reasoning",
		unthinking: { reasoning: { enabled: false } },
	},
};

/** By the addresses of the configuration: as many as there are. */
const known = new Map<string, Host | undefined>();

export function hostOf({ url }: Target): Host | undefined {
	if (!known.has(url)) {
		const { hostname } = new URL(url);
		known.set(url, Object.hasOwn(HOSTS, hostname) ? HOSTS[hostname] : undefined);
	}
	return known.get(url);
}

/** The body of a chat, as the host takes it. */
export function bodyFor(
	{ without = [], also = [], seed: seedName = "seed", limit, unthinking }: Host,
	body: Readonly<Record<string, unknown>>,
	thinks: boolean,
): Record<string, unknown> {
	const { max_tokens, seed, ...rest } = body;
	const renamed = { ...rest, [limit]: max_tokens, [seedName]: seed };
	const taken = Object.entries(renamed).filter(
		([name]) => !without.includes(name) && (!PARTICULAR.has(name) || also.includes(name)),
	);
	return { ...Object.fromEntries(taken), ...(!thinks && unthinking) };
}
