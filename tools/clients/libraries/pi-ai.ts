import { CLAUDE_MODELS, GEMINI_MODELS, KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { type Pi, pi } from "../library/pi.ts";

interface Models extends Pi {
	getModels(provider: string): { id: string; baseUrl: string }[];
}

/** Its built-in providers, by the names of the models. */
function providerOf(model: string, base: string): { provider: string; baseUrl: string } {
	if (model.startsWith("claude")) return { provider: "anthropic", baseUrl: base };
	if (model.startsWith("gemini")) return { provider: "google", baseUrl: `${base}/v1beta` };
	const provider = model.startsWith("gpt") ? "openai" : "cloudflare-workers-ai";
	return { provider, baseUrl: `${base}/v1` };
}

export const client: Library = {
	title: "@earendil-works/pi-ai",
	packages: ["@earendil-works/pi-ai"],
	models: [...OPENAI_MODELS, ...CLAUDE_MODELS, ...GEMINI_MODELS, KIMI],
	// Its provider of Workers AI is not configured without an account. The address above has the real one.
	env: { CLOUDFLARE_API_KEY: "unused", CLOUDFLARE_ACCOUNT_ID: "unused" },
	async open({ base, load, model: id, token }) {
		const { builtinModels } = await load<{ builtinModels(): Models }>("@earendil-works/pi-ai/providers/all");
		const models = builtinModels();
		const { baseUrl, provider } = providerOf(id, base);
		const listed = models.getModels(provider);
		// What its catalogue has for the name, for example the features that it uses.
		const known = listed.find((model) => model.id === id) ?? listed.find((model) => id.startsWith(model.id));
		return pi(models, { ...known, id, baseUrl }, token);
	},
};
