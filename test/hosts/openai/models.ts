/**
 * OpenAI's models: which API, efforts and sampling fields each family accepts (https://developers.openai.com/api/docs/models). The newest
 * refuse function tools on chat completions while they reason.
 */
export interface OpenAIModel {
	apis: readonly ("chat" | "responses")[];
	/** The accepted efforts. Empty: it does not reason. `max` is for the Responses API only. */
	efforts: readonly string[];
	/** The effort of a request without one. */
	defaultEffort: string;
	/** Whether it accepts `temperature` and `top_p`. */
	sampling: "always" | "without reasoning" | "never";
	/** When chat completions accept function tools. `unless asked`: if the request has no effort, or `none`. */
	toolsOnChat: "always" | "unless asked" | "with none" | "never";
}

const BOTH = ["chat", "responses"] as const;
const LOW_TO_XHIGH = ["low", "medium", "high", "xhigh"];
const LOW_TO_MAX = [...LOW_TO_XHIGH, "max"];

const GPT_4: OpenAIModel = {
	apis: BOTH,
	efforts: [],
	defaultEffort: "none",
	sampling: "always",
	toolsOnChat: "always",
};
const GPT_5: OpenAIModel = {
	apis: BOTH,
	efforts: ["minimal", "low", "medium", "high"],
	defaultEffort: "medium",
	sampling: "never",
	toolsOnChat: "always",
};
const GPT_5_1: OpenAIModel = {
	...GPT_5,
	efforts: ["none", "low", "medium", "high"],
	defaultEffort: "none",
	sampling: "without reasoning",
};
const GPT_5_2: OpenAIModel = { ...GPT_5_1, efforts: ["none", ...LOW_TO_XHIGH] };
const GPT_5_4: OpenAIModel = { ...GPT_5_2, toolsOnChat: "unless asked" };
const GPT_5_6: OpenAIModel = {
	...GPT_5_4,
	efforts: ["none", ...LOW_TO_MAX],
	defaultEffort: "medium",
	toolsOnChat: "with none",
};
const GPT_6: OpenAIModel = {
	...GPT_5_6,
	efforts: LOW_TO_MAX,
	sampling: "never",
	toolsOnChat: "never",
};

const FAMILIES: readonly [RegExp, OpenAIModel][] = [
	[/^gpt-(?:4o|4\.1)(?:-mini|-nano)?$/, GPT_4],
	[/^gpt-5(?:\.[123])?(?:-codex|-pro)(?:-mini|-max)?$/, { ...GPT_5_2, apis: ["responses"] }],
	[/^gpt-5(?:-mini|-nano)?$/, GPT_5],
	[/^gpt-5\.1$/, GPT_5_1],
	[/^gpt-5\.[23]$/, GPT_5_2],
	[/^gpt-5\.[45]$/, GPT_5_4],
	[/^gpt-5\.6-(?:luna|sol|terra)$/, GPT_5_6],
	[/^gpt-(?:6-astra|6\.1-sol|6\.2-astra)$/, GPT_6],
	[/^gpt-(?:6-sol|6-luna|6\.1-terra)$/, GPT_5_6],
];

/** Undefined: there is no such model. */
export const openaiModel = (id: string): OpenAIModel | undefined =>
	FAMILIES.find(([pattern]) => pattern.test(id))?.[1];
