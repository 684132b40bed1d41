import type { Library } from "../library/client.ts";
import { type ChatModel, langchain } from "../library/langchain.ts";

type Constructor = new (fields: object) => ChatModel;

const NO_FIELDS = "it sends only messages and `stream` (1.1.0, dist/chat_models.js:93, `_request`)";

export const client: Library = {
	title: "@langchain/cloudflare",
	packages: ["@langchain/cloudflare", "@langchain/core"],
	models: ["@cf/meta/llama-3.3-70b-instruct-fp8-fast"],
	async open(context) {
		const { account, base, load, model, token } = context;
		const { ChatCloudflareWorkersAI: Model } = await load<{ ChatCloudflareWorkersAI: Constructor }>(
			"@langchain/cloudflare",
		);
		return langchain(
			context,
			new Model({
				model,
				cloudflareAccountId: account,
				cloudflareApiToken: token,
				baseUrl: `${base}/run`,
			}),
		);
	},
	onlyStatus: "dist/chat_models.js, `_request`: `Cloudflare LLM call failed with status code`",
	unsupported: {
		tools: NO_FIELDS,
		structured: NO_FIELDS,
		image: "it throws for contents that are no text (1.1.0, dist/chat_models.js:152, `_formatMessages`)",
	},
};
