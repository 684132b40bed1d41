import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

interface PostHogAi {
	OpenAI: new (options: { baseURL: string; apiKey: string; posthog: object }) => Pick<OpenAI, "chat">;
}
type PostHog = new (key: string, options: object) => object;

export const client: Library = {
	title: "@posthog/ai",
	packages: ["@posthog/ai", "posthog-node", "openai"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { OpenAI: Client } = await load<PostHogAi>("@posthog/ai/openai");
		const { PostHog } = await load<{ PostHog: PostHog }>("posthog-node");
		const posthog = new PostHog("phc_unused", { disabled: true });
		return chatCompletions(new Client({ baseURL: `${base}/v1`, apiKey: token, posthog }), model);
	},
};
