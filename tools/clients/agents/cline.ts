import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, patchOf, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const NEEDS_TERMINAL = "`--id` starts its interactive mode, which needs a terminal";
/** Of `openai`, `anthropic` and `google` alone. */
const NO_MODEL_SEARCH = "its provider of the OpenAI-compatible kind has no search (`modelToolCapabilities`)";
const SETTINGS = ".cline/data/settings";

export const agent: CodingAgent = {
	title: "Cline",
	package: "cline",
	bin: "cline",
	installScript: true,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure({ base, home, mcp: [command, ...args], model, token }) {
		const provider = "openai-compatible";
		// The same as `cline auth -p openai -k TOKEN -m MODEL -b BASE/v1` writes.
		writeFile(home, `${SETTINGS}/providers.json`, {
			version: 1,
			lastUsedProvider: provider,
			modes: {},
			providers: {
				[provider]: {
					settings: { provider, apiKey: token, model, baseUrl: `${base}/v1` },
					updatedAt: "2026-11-22T00:00:00.000Z",
					tokenSource: "manual",
				},
			},
		});
		writeFile(home, `${SETTINGS}/cline_mcp_settings.json`, {
			mcpServers: { [MCP_SERVER]: { command, args } },
		});
	},
	command(prompt) {
		return { args: ["-P", "openai-compatible", prompt], env: { CLINE_TELEMETRY_DISABLED: "1" } };
	},
	edit(path, content, tools) {
		// Models with "gpt" in their names have this one instead.
		if (tools.includes("apply_patch"))
			return { name: "apply_patch", input: { input: patchOf(path, content) } };
		return { name: "editor", input: { path, new_text: content } };
	},
	overflow: /maximum context length|context/,
	unsupported: {
		shorten: KEEPS_LIMIT,
		search: NO_MODEL_SEARCH,
		resume: NEEDS_TERMINAL,
		session: NEEDS_TERMINAL,
		compact: NEEDS_TERMINAL,
	},
};
