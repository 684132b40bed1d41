import { type Client, writeFile } from "../client.ts";

export const pi: Client = {
	path: /\/ai\/v1\/chat\/completions$/,
	configure({ base, home, model, token }) {
		writeFile(home, ".pi/agent/models.json", {
			providers: {
				ganglion: {
					baseUrl: `${base}/v1`,
					api: "openai-completions",
					apiKey: token,
					models: [{ id: model, contextWindow: 128_000, maxTokens: 16_000 }],
				},
			},
		});
	},
	command(prompt, { model }, resume) {
		return {
			args: ["--provider", "ganglion", "--model", model, ...(resume ? ["--continue"] : []), "-p", prompt],
			env: { PI_OFFLINE: "1" },
		};
	},
	overflow: "compaction",
	unsupported: { tools: "it has no MCP" },
};
