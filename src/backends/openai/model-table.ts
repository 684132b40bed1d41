/**
 * What OpenAI's models support, by id: https://developers.openai.com/api/docs/models. Hosted by OpenAI or Azure. A model that is
 * not here gets what the caller sent, on chat completions.
 */
import type { ReasoningEffort } from "../../tasks/text-generation/types.ts";

export type OpenAiApi = "chat" | "responses";

export interface OpenAiModel {
	apis: readonly OpenAiApi[];
	/** Its efforts, the lowest first. Empty: it does not reason. */
	efforts: readonly ReasoningEffort[];
	/** When it accepts `temperature`, `top_p`, penalties, `logit_bias` and `logprobs`. */
	sampling: "always" | "without reasoning" | "never";
	/** The effort with which chat completions accepts function tools. */
	chatTools: "any effort" | "no set effort" | "none" | "never";
	/** Whether `prompt_cache_retention` is a field. */
	cacheRetention: boolean;
	/** Whether it has OpenAI's web search, which only Responses offers to most models. */
	searches: boolean;
}

const BOTH = ["chat", "responses"] as const;

const PLAIN: OpenAiModel = {
	apis: BOTH,
	efforts: [],
	sampling: "always",
	chatTools: "any effort",
	cacheRetention: true,
	searches: true,
};
const O_SERIES: OpenAiModel = { ...PLAIN, efforts: ["low", "medium", "high"], sampling: "never" };
const GPT_5: OpenAiModel = { ...O_SERIES, efforts: ["minimal", "low", "medium", "high"] };
const GPT_5_1: OpenAiModel = {
	...GPT_5,
	efforts: ["none", "low", "medium", "high"],
	sampling: "without reasoning",
};
const GPT_5_2: OpenAiModel = { ...GPT_5_1, efforts: ["none", "low", "medium", "high", "xhigh"] };
const GPT_5_4: OpenAiModel = { ...GPT_5_2, chatTools: "no set effort" };
const GPT_5_6: OpenAiModel = {
	...GPT_5_2,
	efforts: ["none", "low", "medium", "high", "xhigh", "max"],
	chatTools: "none",
};
const GPT_6: OpenAiModel = { ...GPT_5_6, cacheRetention: false };
/** Its reasoning cannot be disabled. */
const GPT_6_REASONING: OpenAiModel = {
	...GPT_6,
	efforts: ["low", "medium", "high", "xhigh", "max"],
	sampling: "never",
	chatTools: "never",
};

const onlyOn = (api: OpenAiApi, model: OpenAiModel): OpenAiModel => ({ ...model, apis: [api] });
const withoutSearch = (model: OpenAiModel): OpenAiModel => ({ ...model, searches: false });
/** The efforts of Codex and Pro models are not published: those of their generation above `none`. */
const alwaysReasoning = ({ efforts, ...model }: OpenAiModel): OpenAiModel => ({
	...model,
	efforts: efforts.filter((effort) => effort !== "none" && effort !== "minimal"),
	sampling: "never",
});

const rows = (model: OpenAiModel, ids: string): [string, OpenAiModel][] =>
	ids
		.trim()
		.split(/\s+/)
		.map((id) => [id, model]);

const MODELS: ReadonlyMap<string, OpenAiModel> = new Map([
	...rows(PLAIN, "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini"),
	...rows(withoutSearch(PLAIN), "gpt-3.5-turbo gpt-4 gpt-4-turbo chatgpt-4o-latest gpt-4.1-nano"),
	...rows(PLAIN, "gpt-5-chat-latest gpt-5.1-chat-latest gpt-5.2-chat-latest gpt-5.3-chat-latest"),
	...rows(
		onlyOn("chat", withoutSearch(PLAIN)),
		"gpt-3.5-turbo-16k gpt-4o-audio-preview gpt-4o-mini-audio-preview gpt-audio gpt-audio-mini",
	),
	...rows(onlyOn("chat", PLAIN), "gpt-4o-search-preview gpt-4o-mini-search-preview"),
	...rows(O_SERIES, "o3 o4-mini"),
	...rows(withoutSearch(O_SERIES), "o1 o3-mini"),
	...rows(onlyOn("responses", O_SERIES), "o3-pro"),
	...rows(onlyOn("responses", withoutSearch(O_SERIES)), "o1-pro"),
	...rows(GPT_5, "gpt-5 gpt-5-mini gpt-5-nano"),
	...rows(onlyOn("responses", alwaysReasoning(GPT_5)), "gpt-5-pro gpt-5-codex"),
	...rows(GPT_5_1, "gpt-5.1"),
	...rows(
		onlyOn("responses", alwaysReasoning(GPT_5_1)),
		"gpt-5.1-codex gpt-5.1-codex-mini gpt-5.1-codex-max",
	),
	...rows(GPT_5_2, "gpt-5.2"),
	...rows(alwaysReasoning(GPT_5_2), "gpt-5.2-pro"),
	...rows(onlyOn("responses", alwaysReasoning(GPT_5_2)), "gpt-5.2-codex gpt-5.3-codex"),
	...rows(GPT_5_4, "gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.5"),
	...rows(alwaysReasoning(GPT_5_4), "gpt-5.4-pro gpt-5.5-pro"),
	...rows(GPT_5_6, "gpt-5.6 gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra"),
	...rows(GPT_6, "gpt-6-luna gpt-6-sol gpt-6.1-terra"),
	// Whether 6.2 Sol takes `none` is not published. Without it, a request is never refused.
	...rows(GPT_6_REASONING, "gpt-6-astra gpt-6.1-sol gpt-6.2-astra gpt-6.2-sol"),
]);

const SNAPSHOT = /-\d{4}-\d{2}-\d{2}$/;

/** The row of a model, of its dated snapshot, or of a fine-tuned model (`ft:gpt-4.1:…`). */
export function openAiModel(name: string): OpenAiModel | undefined {
	const [prefix, base = ""] = name.split(":");
	const id = prefix === "ft" ? base : name;
	return MODELS.get(id) ?? MODELS.get(id.replace(SNAPSHOT, ""));
}

/** Chat completions has all efforts up to this one. */
const HIGHEST_ON_CHAT: ReasoningEffort = "xhigh";
const ORDER: readonly ReasoningEffort[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * The model's effort that is closest to the requested one: the highest that is not above it, else its lowest. `null` disables
 * reasoning like `none`. `undefined`: the model's default, also if it does not reason.
 */
export function effortOf(
	effort: ReasoningEffort | null | undefined,
	{ efforts }: OpenAiModel,
	api: OpenAiApi,
): ReasoningEffort | undefined {
	if (effort === undefined) return undefined;
	const rank = (value: ReasoningEffort) => ORDER.indexOf(value);
	const limit = rank(effort ?? "none");
	const available = efforts.filter((one) => api === "responses" || rank(one) <= rank(HIGHEST_ON_CHAT));
	return available.findLast((one) => rank(one) <= limit) ?? available[0];
}
