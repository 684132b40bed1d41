import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Library, PERSON_SCHEMA } from "../library/client.ts";

interface Thread {
	run(
		input: string | object[],
		options?: { outputSchema?: object; signal?: AbortSignal },
	): Promise<{ finalResponse: string }>;
}
type Constructor = new (options: object) => { startThread(options: object): Thread };

export const client: Library = {
	title: "@openai/codex-sdk",
	packages: ["@openai/codex-sdk"],
	models: ["gpt-5.5", "gpt-6-astra"],
	addsTurns: true,
	sentences: { 404: /No such model/ },
	async open({ base, load, model, token }) {
		const { Codex } = await load<{ Codex: Constructor }>("@openai/codex-sdk");
		const folder = mkdtempSync(join(tmpdir(), "ganglion-codex-sdk-"));
		const codex = new Codex({
			apiKey: token,
			env: { PATH: process.env.PATH ?? "", HOME: folder, CODEX_HOME: folder, GANGLION_TOKEN: token },
			config: {
				model_provider: "ganglion",
				model_providers: {
					ganglion: {
						name: "Ganglion",
						base_url: `${base}/v1`,
						env_key: "GANGLION_TOKEN",
						wire_api: "responses",
						request_max_retries: 1,
						stream_max_retries: 0,
					},
				},
			},
		});
		const open = () => codex.startThread({ model, skipGitRepoCheck: true, workingDirectory: folder });
		return {
			async converse(prompts) {
				const thread = open();
				const answers: string[] = [];
				for (const prompt of prompts) answers.push((await thread.run(prompt)).finalResponse);
				return answers;
			},
			interrupt: (prompt, signal) => open().run(prompt, { signal }),
			async extract(prompt) {
				const { finalResponse } = await open().run(prompt, { outputSchema: PERSON_SCHEMA });
				return JSON.parse(finalResponse);
			},
		};
	},
	unsupported: {
		stream: "its events have whole items, not parts of the text (dist/index.d.ts, `ThreadEvent`)",
		tools: "it takes no functions; its MCP servers are those of Codex (npm run agents)",
		image: "Codex makes an image smaller before it sends it, so the bytes differ",
	},
};
