import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, NO_SEARCH, patchOf } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

export const agent: CodingAgent = {
	title: "Copilot CLI",
	package: "@github/copilot",
	bin: "copilot",
	installScript: false,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	command(prompt, { base, mcp: [command, ...args], model, token }, resume) {
		const servers = { mcpServers: { [MCP_SERVER]: { type: "local", command, args, tools: ["*"] } } };
		return {
			args: [
				...(resume ? ["--continue"] : []),
				"--allow-all-tools",
				"--disable-builtin-mcps",
				"--additional-mcp-config",
				JSON.stringify(servers),
				"-p",
				prompt,
			],
			env: {
				COPILOT_PROVIDER_BASE_URL: `${base}/v1`,
				COPILOT_PROVIDER_API_KEY: token,
				COPILOT_MODEL: model,
				COPILOT_OFFLINE: "true",
			},
		};
	},
	edit(path, content, tools) {
		// OpenAI's models have this one instead.
		if (tools.includes("apply_patch"))
			return { name: "apply_patch", input: { input: patchOf(path, content) } };
		return { name: "create", input: { path, file_text: content } };
	},
	compaction: { prompt: "/compact" },
	overflow: /exceeded the model's context limit/,
	unsupported: {
		session: "it leaves out the images in results of an MCP server for a model of such a provider",
		shorten: KEEPS_LIMIT,
		search: NO_SEARCH,
	},
};
