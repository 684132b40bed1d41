/**
 * Providers that have a key setting of their own (`PROVIDER_KEYS`), by the author in a model's id. The addresses are those of
 * the providers' public documentation.
 */
import type { BackendKind } from "../backends/kinds.ts";
import { own } from "../core/own.ts";

export interface Provider {
	kind: BackendKind;
	url: string;
	/** Converts the part after `author/` of a catalogue id to the provider's name of the model. Absent: both are the same. */
	nameOf?(model: string): string;
}

const openai = (url: string): Provider => ({ kind: "openai", url });

/** Catalogue names for which the provider uses another name. */
const named =
	(names: Readonly<Record<string, string>>) =>
	(model: string): string =>
		own(names, model) || model;

const ANTHROPIC_NAMES = named({ "claude-sonnet-4": "claude-sonnet-4-0" });

const GOOGLE_NAMES = named({
	"gemini-3-flash": "gemini-3-flash-preview",
	"gemini-3.1-flash-lite": "gemini-3.1-flash-lite-preview",
	"gemini-3.1-flash-tts": "gemini-3.1-flash-tts-preview",
	"gemini-3.1-pro": "gemini-3.1-pro-preview",
	"imagen-4": "imagen-4.0-generate-001",
	"nano-banana": "gemini-2.5-flash-image",
	"nano-banana-2": "gemini-3.1-flash-image-preview",
	"nano-banana-pro": "gemini-3-pro-image-preview",
});

export const PROVIDERS: Readonly<Record<string, Provider>> = {
	alibaba: openai("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
	anthropic: {
		kind: "anthropic",
		url: "https://api.anthropic.com",
		// `claude-haiku-4.5` is `claude-haiku-4-5` there.
		nameOf: (model) => ANTHROPIC_NAMES(model).replaceAll(".", "-"),
	},
	cerebras: openai("https://api.cerebras.ai/v1"),
	cohere: openai("https://api.cohere.ai/compatibility/v1"),
	deepseek: openai("https://api.deepseek.com"),
	fireworks: openai("https://api.fireworks.ai/inference/v1"),
	google: { kind: "gemini", url: "https://generativelanguage.googleapis.com", nameOf: GOOGLE_NAMES },
	groq: openai("https://api.groq.com/openai/v1"),
	minimax: {
		...openai("https://api.minimax.io/v1"),
		// `m2.7` is `MiniMax-M2.7` there.
		nameOf: (model) => (/^m\d/.test(model) ? `MiniMax-M${model.slice(1)}` : model),
	},
	mistral: openai("https://api.mistral.ai/v1"),
	moonshotai: openai("https://api.moonshot.ai/v1"),
	openai: openai("https://api.openai.com/v1"),
	openrouter: openai("https://openrouter.ai/api/v1"),
	perplexity: openai("https://api.perplexity.ai"),
	xai: openai("https://api.x.ai/v1"),
	"z-ai": openai("https://api.z.ai/api/paas/v4"),
};
