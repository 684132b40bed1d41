import type { ProviderFactory } from "../library/ai-sdk.ts";
import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Agent {
	generateText(input: string | object[], options?: object): Promise<{ text: string }>;
	streamText(
		input: string,
		options: { abortSignal: AbortSignal },
	): Promise<{ textStream: AsyncIterable<string> }>;
	generateObject(input: string, schema: object): Promise<{ object: unknown }>;
}
interface VoltAgent {
	Agent: new (options: object) => Agent;
	createTool(options: object): object;
}

export const client: Library = {
	title: "@voltagent/core",
	packages: ["@voltagent/core", "@voltagent/logger", "ai@6", "@ai-sdk/openai@3", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	env: { VOLTAGENT_TELEMETRY_DISABLED: "1" },
	async open({ base, load, model, token }) {
		const { Agent, createTool } = await load<VoltAgent>("@voltagent/core");
		const { createOpenAI } = await load<{ createOpenAI: ProviderFactory }>("@ai-sdk/openai");
		const { fromJSONSchema } = await load<{ fromJSONSchema(schema: object): object }>("zod");
		const provider = createOpenAI({ baseURL: `${base}/v1`, apiKey: token });
		const open = (options: object = {}) =>
			new Agent({ name: "assistant", instructions: "You help.", model: provider(model), ...options });
		return {
			async converse(prompts) {
				const agent = open();
				const messages: object[] = [];
				const answers: string[] = [];
				for (const content of prompts) {
					messages.push({ role: "user", content });
					const { text } = await agent.generateText(messages);
					messages.push({ role: "assistant", content: text });
					answers.push(text);
				}
				return answers;
			},
			async *stream(prompt, abortSignal) {
				yield* (await open().streamText(prompt, { abortSignal })).textStream;
			},
			async callTools(prompt, { description, name, run }) {
				const weather = createTool({
					name,
					description,
					parameters: fromJSONSchema(WEATHER_SCHEMA),
					execute: async ({ city }: { city: string }) => run(city),
				});
				return (await open({ tools: [weather] }).generateText(prompt)).text;
			},
			extract: async (prompt) => (await open().generateObject(prompt, fromJSONSchema(PERSON_SCHEMA))).object,
			async describe(text, png) {
				const content = [
					{ type: "text", text },
					{ type: "file", data: Buffer.from(png).toString("base64"), mediaType: "image/png" },
				];
				return (await open().generateText([{ role: "user", content }])).text;
			},
		};
	},
};
