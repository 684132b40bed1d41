import { AI_SDK, aiSdkClient } from "../library/ai-sdk.ts";
import { KIMI, type Library } from "../library/client.ts";

export const client: Library = {
	title: "@ai-sdk/perplexity",
	packages: ["@ai-sdk/perplexity", ...AI_SDK],
	models: [KIMI, "sonar-pro"],
	unsupported: {
		tools:
			"it sends no tools (4.0.49, dist/index.js:343, `getArgs`), and refuses messages of the role `tool` (dist/index.js:184)",
	},
	open: aiSdkClient("@ai-sdk/perplexity", "createPerplexity", ({ base }) => `${base}/v1`),
};
