import { CLAUDE_MODELS, GEMINI_MODELS, KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type Pi, pi } from "../library/pi.ts";

/** The formats of its built-in providers, by the names of the models. */
function providerOf(model: string, base: string): { api: string; baseUrl: string } {
	if (model.startsWith("claude")) return { api: "anthropic-messages", baseUrl: base };
	if (model.startsWith("gemini")) return { api: "google-generative-ai", baseUrl: `${base}/v1beta` };
	return { api: model.startsWith("gpt") ? "openai-responses" : "openai-completions", baseUrl: `${base}/v1` };
}

export const client: Library = {
	title: "@mariozechner/pi-ai",
	packages: ["@mariozechner/pi-ai"],
	models: [...OPENAI_MODELS, ...CLAUDE_MODELS, ...GEMINI_MODELS, KIMI],
	async open({ base, load, model: id, token }) {
		const model = {
			...providerOf(id, base),
			...{ id, name: id, provider: "ganglion", reasoning: true, input: ["text", "image"] },
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
			contextWindow: 128_000,
			maxTokens: 16_000,
		};
		return pi(await load<Pi>("@mariozechner/pi-ai"), model, token);
	},
};
