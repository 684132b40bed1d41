import { type CodingAgent, KEEPS_LIMIT, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

export const agent: CodingAgent = {
	title: "pi",
	package: "@earendil-works/pi-coding-agent",
	bin: "pi",
	installScript: false,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
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
	edit: (path, content) => ({ name: "write", input: { path, content } }),
	overflow: "compaction",
	unsupported: {
		shorten: KEEPS_LIMIT,
		overflow:
			"it notices the full context, but has nothing to compact after one prompt (`_runAutoCompaction`, dist/core/agent-session.js)",
	},
};
