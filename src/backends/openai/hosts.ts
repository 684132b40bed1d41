/**
 * The chat fields of hosted services that copied OpenAI's routes, by their public API references and known refusals. Some
 * answer 400 to an unknown field. An address that is not listed here gets all fields: engines ignore unknown ones.
 *
 * Unsupported fields are omitted, except `n`: the service refuses it, so that the caller does not get one answer for many.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { own } from "../../core/own.ts";
import type { Extensions } from "../../tasks/extensions.ts";
import type { TaskName } from "../../tasks/task.ts";
import type { CallContext, Target } from "../backend.ts";
import type { Handler } from "../handler.ts";
import { chooseExtensions } from "../media-extensions.ts";

type MediaRoute = "speech" | "transcription" | "image" | "image edit";

export interface Host {
	limit: "max_tokens" | "max_completion_tokens";
	/** OpenAI's fields that it does not take. */
	omit?: ReadonlySet<string>;
	/** Fields of {@link RESTRICTED} that it takes. */
	allow?: ReadonlySet<string>;
	/** Its name of the field `seed`. */
	seed?: string;
	/** The field of an assistant message for its reasoning. Absent: reasoning is not sent back. */
	reasoningField?: "reasoning" | "reasoning_content";
	/** It takes the `reasoning_details` of its answers back. */
	reasoningDetails?: true;
	/** It takes Anthropic's cache breakpoints (`cache_control`) on content parts and tools. */
	cacheBreakpoints?: true;
	/** It serves only models of its own, with its own defaults. */
	ownModels?: true;
	/** Tool calls are sent back with Gemini's signatures. */
	signed?: true;
	/** Fields of OpenAI's media routes that it knows. */
	media?: Partial<Record<MediaRoute, ReadonlySet<string>>>;
	/** Its embeddings take arrays of tokens. */
	embedsTokens?: true;
	/** The ids of tool calls that it accepts. Absent: any. */
	callIds?: RegExp;
	/** It refuses an assistant message with calls and without the field of its reasoning. */
	needsReasoning?: true;
	/** The fields that disable reasoning. */
	disableReasoning?: Readonly<Record<string, unknown>>;
}

const fields = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/));

/** Fields of self-hosted engines only: sampling and constrained output. */
export const ENGINE_SAMPLING = fields(`
	min_p typical_p mirostat mirostat_tau mirostat_eta grammar guided_choice guided_regex guided_grammar
	structured_outputs regex ebnf bad_words stop_token_ids min_tokens ignore_eos`);

/** Fields of engines (vLLM, SGLang, llama.cpp) and of OpenAI's service: only for hosts that allow them. */
const RESTRICTED = fields(`
	top_k repetition_penalty repeat_penalty chat_template_kwargs skip_special_tokens continue_final_message
	add_generation_prompt audio function_call functions ${[...ENGINE_SAMPLING].join(" ")}
	metadata modalities prediction prompt_cache_options prompt_cache_retention service_tier store
	web_search_options`);

const NONE: ReadonlySet<string> = new Set();

const OPENAI_IMAGES = "background moderation output_compression quality user";
/** Of OpenAI's service, which refuses unknown ones. */
const OPENAI_MEDIA: Record<MediaRoute, ReadonlySet<string>> = {
	speech: fields("instructions"),
	transcription: fields("chunking_strategy include[] known_speaker_names[] known_speaker_references[]"),
	image: fields(`${OPENAI_IMAGES} style`),
	"image edit": fields(`${OPENAI_IMAGES} input_fidelity`),
};

const THINKING_DISABLED = { thinking: { type: "disabled" } };
const LOGPROBS = "logprobs top_logprobs";
const PENALTIES = "frequency_penalty presence_penalty";

export const HOSTS: Readonly<Record<string, Host>> = {
	"api.cerebras.ai": { limit: "max_completion_tokens", omit: fields(`${PENALTIES} logit_bias`) },
	"api.cohere.ai": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields("logit_bias parallel_tool_calls top_logprobs user"),
	},
	"api.deepseek.com": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields("logit_bias parallel_tool_calls seed user"),
		reasoningField: "reasoning_content",
		needsReasoning: true,
		disableReasoning: THINKING_DISABLED,
	},
	"api.fireworks.ai": {
		limit: "max_tokens",
		embedsTokens: true,
		allow: fields("metadata prediction repetition_penalty service_tier top_k"),
		media: {
			transcription: fields("alignment_model diarize max_speakers min_speakers preprocessing vad_model"),
		},
		reasoningField: "reasoning_content",
		disableReasoning: { reasoning_effort: "none" },
	},
	"api.groq.com": {
		limit: "max_completion_tokens",
		omit: fields(`logit_bias ${LOGPROBS}`),
		allow: fields("service_tier"),
	},
	"api.minimax.io": {
		ownModels: true,
		limit: "max_completion_tokens",
		omit: fields(`logit_bias ${LOGPROBS} ${PENALTIES} seed`),
	},
	"api.mistral.ai": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields(`logit_bias ${LOGPROBS} reasoning_effort stream_options user`),
		allow: fields("metadata prediction"),
		media: { transcription: fields("context_bias context_bias[] diarize") },
		seed: "random_seed",
		callIds: /^[a-zA-Z0-9]{9}$/,
	},
	"api.moonshot.ai": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields(`logit_bias ${LOGPROBS} parallel_tool_calls reasoning_effort seed user`),
		reasoningField: "reasoning_content",
		needsReasoning: true,
		disableReasoning: THINKING_DISABLED,
	},
	"api.perplexity.ai": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields("logit_bias parallel_tool_calls seed user"),
		allow: fields("top_k web_search_options"),
	},
	// All its models reason, and reasoning models refuse the penalties.
	"api.x.ai": {
		ownModels: true,
		limit: "max_completion_tokens",
		omit: fields(`logit_bias ${PENALTIES}`),
		media: {
			image: fields("aspect_ratio quality resolution user"),
			"image edit": fields("aspect_ratio quality resolution user"),
		},
		reasoningField: "reasoning_content",
	},
	"api.z.ai": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields(`logit_bias ${LOGPROBS} parallel_tool_calls ${PENALTIES} reasoning_effort seed user`),
		media: { image: fields("quality user_id watermark_enabled") },
		reasoningField: "reasoning_content",
		disableReasoning: THINKING_DISABLED,
	},
	"dashscope-intl.aliyuncs.com": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields("logit_bias reasoning_effort user"),
		allow: fields("repetition_penalty top_k"),
		reasoningField: "reasoning_content",
		disableReasoning: { enable_thinking: false },
		cacheBreakpoints: true,
	},
	"generativelanguage.googleapis.com": {
		ownModels: true,
		limit: "max_tokens",
		omit: fields("logit_bias user"),
		signed: true,
		disableReasoning: { reasoning_effort: "none" },
	},
	"openrouter.ai": {
		limit: "max_tokens",
		media: { speech: fields("instructions") },
		embedsTokens: true,
		allow: fields("audio modalities prediction repetition_penalty top_k web_search_options"),
		reasoningField: "reasoning",
		reasoningDetails: true,
		disableReasoning: { reasoning: { enabled: false } },
		cacheBreakpoints: true,
	},
};

/** Configured addresses have the host in lower case and no credentials. */
const HOSTNAME = /^https?:\/\/([^/:]+)/;

/** The options of a media request that the host knows. An engine at another address ignores unknown ones. */
export function mediaExtensions(
	call: Pick<CallContext, "report"> & { target: Pick<Target, "url"> },
	route: MediaRoute,
	sent: Extensions | undefined,
): Extensions {
	const { host, isOpenAi } = serviceAt(call.target);
	const known = isOpenAi ? OPENAI_MEDIA[route] : host ? (host.media?.[route] ?? NONE) : undefined;
	return chooseExtensions(call, sent, (name) => known?.has(name) ?? true);
}

/** Converts the body of a chat to the fields of the host. */
export function bodyFor(
	{ omit, allow, seed: seedName = "seed", limit, disableReasoning }: Host,
	body: Readonly<Record<string, unknown>>,
	reasons: boolean,
): Record<string, unknown> {
	const { max_tokens, seed, ...others } = body;
	const renamed = { ...others, [limit]: max_tokens, [seedName]: seed };
	const supported = Object.entries(renamed).filter(
		([name]) => !omit?.has(name) && (!RESTRICTED.has(name) || allow?.has(name)),
	);
	return { ...Object.fromEntries(supported), ...(!reasons && disableReasoning) };
}

/** Azure's newer hosts serve other models beside `/openai`. */
const SERVICE =
	/^https?:\/\/(?:[^/]+\.)?(?:(?:api\.openai\.com|openai\.azure\.com)(?::\d+)?(?:\/|$)|(?:services\.ai|cognitiveservices)\.azure\.com(?::\d+)?\/openai(?:\/|$))/;

export interface OpenAiService {
	/**
	 * OpenAI's own service refuses unknown fields. Engines that copied its routes ignore them, and have additional fields. So
	 * the request depends on which of the two the target is.
	 */
	isOpenAi: boolean;
	/** Absent: the address is not of a listed host. */
	host: Host | undefined;
}

/** Addresses in the cache. It is cleared when it is full, because accounts may have addresses of their own. */
const MAX_CACHED = 1_000;
const services = new BoundedMap<string, OpenAiService>(MAX_CACHED);

/** The service at the address of the target. */
export const serviceAt = ({ url }: Pick<Target, "url">): OpenAiService =>
	services.getOrSet(url, () => {
		const name = String(HOSTNAME.exec(url)?.[1]);
		return { isOpenAi: SERVICE.test(url), host: own(HOSTS, name) };
	});

/** For a server that has OpenAI's routes below `/v1`, beside its own. */
export const onOpenAiRoutes =
	<Name extends TaskName>(handler: Handler<Name>): Handler<Name> =>
	(input, { target, ...call }) =>
		handler(input, { ...call, target: { ...target, url: `${target.url}/v1` } });
