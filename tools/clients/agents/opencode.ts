import {
	type CodingAgent,
	type Context,
	KEEPS_LIMIT,
	MCP_SERVER,
	patchOf,
	writeFile,
} from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const CONTEXT_TOKENS = 128_000;
const OUTPUT_TOKENS = 16_000;
const SHORT_CONTEXT_TOKENS = 20_000;

export const configuration = ({ base, mcp, model, token }: Context, context = CONTEXT_TOKENS): object => ({
	autoupdate: false,
	share: "disabled",
	provider: {
		ganglion: {
			npm: "@ai-sdk/openai-compatible",
			name: "Ganglion",
			options: { baseURL: `${base}/v1`, apiKey: token },
			models: {
				[model]: {
					limit: { context, output: OUTPUT_TOKENS },
					attachment: true,
					modalities: { input: ["text", "image"], output: ["text"] },
				},
			},
		},
	},
	mcp: { [MCP_SERVER]: { type: "local", command: mcp, enabled: true } },
});

export const edit: CodingAgent["edit"] = (filePath, content, tools) =>
	// OpenAI's models have the patch instead.
	tools.includes("apply_patch")
		? { name: "apply_patch", input: { patchText: patchOf(filePath, content) } }
		: { name: "write", input: { filePath, content } };

/** It compacts after a request that leaves less than the output. */
export const compactionIn = (file: string): CodingAgent["compaction"] => ({
	configure: (context) => writeFile(context.folder, file, configuration(context, SHORT_CONTEXT_TOKENS)),
	inputTokens: SHORT_CONTEXT_TOKENS - OUTPUT_TOKENS + 1_000,
});

export const OWN_SEARCH = "its search calls a service of its own";

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
	edit,
	compaction: compactionIn("opencode.json"),
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: { search: OWN_SEARCH, shorten: KEEPS_LIMIT },
};
