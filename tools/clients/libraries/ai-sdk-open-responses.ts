import type { LanguageModel } from "ai";
import { AI_SDK, aiSdk } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

type Create = (options: { name: string; url: string; apiKey: string }) => (model: string) => LanguageModel;

export const client: Library = {
	title: "@ai-sdk/open-responses",
	packages: ["@ai-sdk/open-responses", ...AI_SDK],
	models: [...OPENAI_MODELS, KIMI],
	async open(context) {
		const { base, load, model, token } = context;
		const { createOpenResponses } = await load<{ createOpenResponses: Create }>("@ai-sdk/open-responses");
		const provider = createOpenResponses({ name: "ganglion", url: `${base}/v1/responses`, apiKey: token });
		return aiSdk(context, provider(model));
	},
};
