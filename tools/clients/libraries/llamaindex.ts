import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Message {
	content: string;
	role: string;
	options?: { toolCall?: { id: string; name: string; input: { city: string } | string }[] };
}
interface Model {
	chat(request: { messages: object[]; stream: true }): Promise<AsyncIterable<{ delta: string }>>;
	chat(request: {
		messages: object[];
		tools?: object[];
		responseFormat?: object;
	}): Promise<{ message: Message }>;
}

export const client: Library = {
	title: "@llamaindex/openai",
	packages: ["@llamaindex/openai", "llamaindex"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { OpenAI } = await load<{ OpenAI: new (options: object) => Model }>("@llamaindex/openai");
		const address = { model, apiKey: token, baseURL: `${base}/v1` };
		const llm = new OpenAI(address);
		return {
			async converse(prompts) {
				const messages: object[] = [];
				const answers: string[] = [];
				for (const content of prompts) {
					messages.push({ role: "user", content });
					const { message } = await llm.chat({ messages });
					messages.push(message);
					answers.push(message.content);
				}
				return answers;
			},
			async *stream(content, signal) {
				// Its calls take no signal (`LLMChatParamsBase` of @llamaindex/core), and leaving the loop does not end a stream: its wrapper
				// calls only `next` (@llamaindex/core, decorator/dist/index.js, `wrapEventCaller`). The options of its OpenAI client have a signal.
				const ended = new OpenAI({ ...address, additionalSessionOptions: { fetchOptions: { signal } } });
				const chunks = await ended.chat({ messages: [{ role: "user", content }], stream: true });
				for await (const { delta } of chunks) yield delta;
			},
			async callTools(content, { description, name, run }) {
				const tool = { metadata: { name, description, parameters: WEATHER_SCHEMA }, call: () => "" };
				const messages: object[] = [{ role: "user", content }];
				for (;;) {
					const { message } = await llm.chat({ messages, tools: [tool] });
					const calls = message.options?.toolCall ?? [];
					if (calls.length === 0) return message.content;
					messages.push(message);
					for (const { id, input } of calls) {
						const { city } = typeof input === "string" ? (JSON.parse(input) as { city: string }) : input;
						const toolResult = { id, result: run(city), isError: false };
						messages.push({ role: "user", content: toolResult.result, options: { toolResult } });
					}
				}
			},
			async extract(content) {
				const responseFormat = {
					type: "json_schema",
					json_schema: { name: "person", strict: true, schema: PERSON_SCHEMA },
				};
				const { message } = await llm.chat({ messages: [{ role: "user", content }], responseFormat });
				return JSON.parse(message.content);
			},
			async describe(text, png) {
				const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
				const content = [
					{ type: "text", text },
					{ type: "image_url", image_url: { url } },
				];
				const { message } = await llm.chat({ messages: [{ role: "user", content }] });
				return message.content;
			},
		};
	},
};
