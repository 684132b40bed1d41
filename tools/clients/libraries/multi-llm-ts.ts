import {
	type Context,
	KIMI,
	type Library,
	type LocalTool,
	OPENAI_MODELS,
	type Operations,
} from "../library/client.ts";

interface Engine {
	addPlugin(plugin: object): void;
	complete(thread: readonly object[], options?: object): Promise<{ content?: string }>;
	generate(
		thread: readonly object[],
		options: { abortSignal: AbortSignal },
	): AsyncIterable<{ type: string; text?: string }>;
}

interface Module {
	igniteModel(engine: "openai", model: object, config: { apiKey: string; baseURL: string }): Engine;
	Message: new (role: "user" | "assistant", content: string, attachment?: object) => object;
	Attachment: new (content: string, mimeType: string) => object;
	Plugin: new () => object;
}

interface Zod {
	object(shape: object): object;
	string(): object;
	number(): { int(): object };
}

export const client: Library = {
	title: "multi-llm-ts",
	packages: ["multi-llm-ts", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	open,
};

async function open({ base, load, model, token }: Context): Promise<Operations> {
	const { Attachment, igniteModel, Message, Plugin } = await load<Module>("multi-llm-ts");
	const capabilities = { tools: true, vision: true, reasoning: false, caching: false };
	const ignite = () =>
		igniteModel("openai", { id: model, name: model, capabilities }, { apiKey: token, baseURL: `${base}/v1` });
	const user = (text: string, attachment?: object) => new Message("user", text, attachment);
	return {
		async converse(prompts) {
			const engine = ignite();
			const thread: object[] = [];
			const answers: string[] = [];
			for (const prompt of prompts) {
				thread.push(user(prompt));
				const { content = "" } = await engine.complete(thread);
				thread.push(new Message("assistant", content));
				answers.push(content);
			}
			return answers;
		},
		async *stream(prompt, abortSignal) {
			for await (const chunk of ignite().generate([user(prompt)], { abortSignal }))
				if (chunk.type === "content") yield chunk.text ?? "";
		},
		async callTools(prompt, tool) {
			const engine = ignite();
			engine.addPlugin(pluginOf(new Plugin(), tool));
			return (await engine.complete([user(prompt)])).content ?? "";
		},
		async extract(prompt) {
			const { z } = await load<{ z: Zod }>("zod");
			const structure = z.object({ name: z.string(), age: z.number().int() });
			const { content = "" } = await ignite().complete([user(prompt)], {
				structuredOutput: { name: "person", structure },
			});
			return JSON.parse(content);
		},
		async describe(text, png) {
			const image = new Attachment(Buffer.from(png).toString("base64"), "image/png");
			return (await ignite().complete([user(text, image)])).content ?? "";
		},
	};
}

const pluginOf = (plugin: object, { description, name, run }: LocalTool): object =>
	Object.assign(plugin, {
		isEnabled: () => true,
		getName: () => name,
		getDescription: () => description,
		getParameters: () => [{ name: "city", type: "string", description: "Name of the city", required: true }],
		execute: async (_: unknown, { city }: { city: string }) => run(city),
	});
