import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as Zod from "zod";
import { CLAUDE_MODELS, KIMI, type Library, PERSON_SCHEMA } from "../library/client.ts";

interface Message {
	type: string;
	session_id?: string;
	subtype?: string;
	is_error?: boolean;
	result?: string;
	structured_output?: unknown;
	errors?: string[];
	event?: { type: string; delta?: { type: string; text?: string } };
}

interface Sdk {
	query(parameters: { prompt: string | AsyncIterable<object>; options: object }): AsyncIterable<Message>;
	createSdkMcpServer(options: object): object;
	tool(
		name: string,
		description: string,
		schema: object,
		run: (input: { city: string }) => Promise<object>,
	): object;
}

export const client: Library = {
	title: "@anthropic-ai/claude-agent-sdk",
	packages: ["@anthropic-ai/claude-agent-sdk", "zod"],
	models: [...CLAUDE_MODELS, KIMI],
	addsTurns: true,
	sentences: { 404: /issue with the selected model/ },
	async open({ base, load, model, token }) {
		const { createSdkMcpServer, query, tool } = await load<Sdk>("@anthropic-ai/claude-agent-sdk");
		const { z } = await load<typeof Zod>("zod");
		const home = mkdtempSync(join(tmpdir(), "ganglion-agent-sdk-"));
		const common = {
			model,
			cwd: home,
			settingSources: [],
			env: {
				PATH: process.env.PATH ?? "",
				HOME: home,
				ANTHROPIC_BASE_URL: base,
				ANTHROPIC_AUTH_TOKEN: token,
				ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
				CLAUDE_CODE_MAX_CONTEXT_TOKENS: "128000",
				CLAUDE_CODE_MAX_RETRIES: "2",
				DISABLE_AUTOUPDATER: "1",
			},
		};
		const run = async (prompt: string | AsyncIterable<object>, options: object = {}): Promise<Message> => {
			for await (const message of query({ prompt, options: { ...common, ...options } }))
				if (message.type === "result") {
					if (message.is_error)
						throw new Error(message.result ?? message.errors?.join(" ") ?? message.subtype);
					return message;
				}
			throw new Error("no result");
		};
		return {
			async converse(prompts) {
				const answers: string[] = [];
				let resume: string | undefined;
				for (const prompt of prompts) {
					const { result = "", session_id } = await run(prompt, resume === undefined ? {} : { resume });
					resume = session_id;
					answers.push(result);
				}
				return answers;
			},
			async *stream(prompt, signal) {
				const abortController = new AbortController();
				signal.addEventListener("abort", () => abortController.abort());
				const options = { ...common, includePartialMessages: true, abortController };
				for await (const { event } of query({ prompt, options }))
					if (event?.delta?.type === "text_delta") yield event.delta.text ?? "";
			},
			async callTools(prompt, { description, name, run: answer }) {
				const weather = tool(name, description, { city: z.string() }, async ({ city }) => ({
					content: [{ type: "text", text: answer(city) }],
				}));
				const { result = "" } = await run(prompt, {
					mcpServers: {
						local: createSdkMcpServer({
							name: "local",
							version: "1.0.0",
							tools: [weather],
							alwaysLoad: true,
						}),
					},
					allowedTools: [`mcp__local__${name}`],
				});
				return result;
			},
			async extract(prompt) {
				const outputFormat = { type: "json_schema", schema: PERSON_SCHEMA };
				return (await run(prompt, { outputFormat })).structured_output;
			},
			async describe(text, png) {
				const source = { type: "base64", media_type: "image/png", data: Buffer.from(png).toString("base64") };
				const content = [
					{ type: "text", text },
					{ type: "image", source },
				];
				// A prompt with an image is its streaming input.
				async function* prompt() {
					yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
				}
				return (await run(prompt())).result ?? "";
			},
		};
	},
};
