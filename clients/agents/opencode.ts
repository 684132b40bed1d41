import {
	type CodingAgent,
	type Context,
	KEEPS_LIMIT,
	MCP_SERVER,
	patchOf,
	writeFile,
} from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

export const configuration = ({ base, mcp, model, token }: Context): object => ({
	autoupdate: false,
	share: "disabled",
	provider: {
		ganglion: {
			npm: "@ai-sdk/openai-compatible",
			name: "Ganglion",
			options: { baseURL: `${base}/v1`, apiKey: token },
			models: {
				[model]: {
					limit: { context: 128_000, output: 16_000 },
					attachment: true,
					modalities: { input: ["text", "image"], output: ["text"] },
				},
			},
		},
	},
	mcp: { [MCP_SERVER]: { type: "local", command: mcp, enabled: true } },
});

export const agent: CodingAgent = {
	title: "opencode",
	package: "opencode-ai",
	bin: "opencode",
	installScript: true,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure(context) {
		writeFile(context.folder, "opencode.json", configuration(context));
	},
	command(prompt, { model }, resume) {
		return {
			args: ["run", ...(resume ? ["--continue"] : []), "-m", `ganglion/${model}`, prompt],
			env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" },
		};
	},
	edit(filePath, content, tools) {
		// OpenAI's models have this one instead.
		if (tools.includes("apply_patch"))
			return { name: "apply_patch", input: { patchText: patchOf(filePath, content) } };
		return { name: "write", input: { filePath, content } };
	},
	compaction: { inputTokens: 126_000 },
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: { search: "its search calls a service of its own", shorten: KEEPS_LIMIT },
};
