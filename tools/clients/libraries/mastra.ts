import type * as Zod from "zod";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";

interface Agent {
	generate(
		input: string | readonly object[],
		options?: object,
	): Promise<{ text: string; object?: unknown; error?: unknown }>;
	stream(input: string, options: object): Promise<{ textStream: AsyncIterable<string> }>;
}

export const client: Library = {
	title: "@mastra/core",
	packages: ["@mastra/core", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model: id, token }) {
		const { Agent } = await load<{ Agent: new (options: object) => Agent }>("@mastra/core/agent");
		const { createTool } = await load<{ createTool(options: object): object }>("@mastra/core/tools");
		const { z } = await load<typeof Zod>("zod");
		// An address of one's own: its router calls it as an OpenAI-compatible one.
		const model = { id: `ganglion/${id}`, url: `${base}/v1`, apiKey: token };
		const identity = { id: "tester", name: "Tester", instructions: "Be short.", model };
		const agent = new Agent(identity);
		return {
			async converse(prompts) {
				const messages: object[] = [];
				const answers: string[] = [];
				for (const content of prompts) {
					messages.push({ role: "user", content });
					const { error, text } = await agent.generate(messages);
					if (error) throw error;
					messages.push({ role: "assistant", content: text });
					answers.push(text);
				}
				return answers;
			},
			async *stream(prompt, abortSignal) {
				const { textStream } = await agent.stream(prompt, { abortSignal });
				yield* textStream;
			},
			async callTools(prompt, { description, name, run }) {
				const weather = createTool({
					id: name,
					description,
					inputSchema: z.object({ city: z.string() }),
					execute: async ({ city }: { city: string }) => run(city),
				});
				const { text } = await new Agent({ ...identity, tools: { [name]: weather } }).generate(prompt);
				return text;
			},
			async extract(prompt) {
				const schema = z.object({ name: z.string(), age: z.number() });
				const { object } = await agent.generate(prompt, { structuredOutput: { schema } });
				return object;
			},
			async describe(text, png) {
				const image = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
				const content = [
					{ type: "text", text },
					{ type: "image", image, mimeType: "image/png" },
				];
				return (await agent.generate([{ role: "user", content }])).text;
			},
		};
	},
};
