import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Message {
	content?: string | null;
	toolCalls?: { id: string; function: { arguments: string } }[];
}
interface Chat {
	send(
		request: { chatRequest: Record<string, unknown> & { stream: true } },
		options?: { signal: AbortSignal },
	): Promise<AsyncIterable<{ choices: { delta: Message }[] }>>;
	send(request: { chatRequest: object }): Promise<{ choices: { message: Message }[] }>;
}
type Constructor = new (options: { apiKey: string; serverURL: string }) => { chat: Chat };

export const client: Library = {
	title: "@openrouter/sdk",
	packages: ["@openrouter/sdk"],
	models: [...OPENAI_MODELS, KIMI],
	// Its errors of other servers than OpenRouter are those of its schema (esm/models/unauthorizedresponseerrordata.js: `code` is a number).
	onlyStatus: "esm/models/errors/responsevalidationerror.js",
	async open({ base, load, model, token }) {
		const { OpenRouter } = await load<{ OpenRouter: Constructor }>("@openrouter/sdk");
		const { chat } = new OpenRouter({ apiKey: token, serverURL: `${base}/v1` });
		const answerTo = async (messages: object[], fields: object = {}): Promise<Message> => {
			const { choices } = await chat.send({ chatRequest: { model, messages, ...fields } });
			if (!choices[0]) throw new Error("an answer has no message");
			return choices[0].message;
		};
		return {
			async converse(prompts) {
				const messages: object[] = [];
				const answers: string[] = [];
				for (const content of prompts) {
					messages.push({ role: "user", content });
					const message = await answerTo(messages);
					messages.push(message);
					answers.push(message.content ?? "");
				}
				return answers;
			},
			async *stream(content, signal) {
				const messages = [{ role: "user", content }];
				const chunks = await chat.send(
					{ chatRequest: { model, messages, stream: true, streamOptions: { includeUsage: true } } },
					{ signal },
				);
				for await (const { choices } of chunks) yield choices[0]?.delta.content ?? "";
			},
			async callTools(content, { description, name, run }) {
				const tools = [{ type: "function", function: { name, description, parameters: WEATHER_SCHEMA } }];
				const messages: object[] = [{ role: "user", content }];
				for (;;) {
					const message = await answerTo(messages, { tools });
					if (!message.toolCalls?.length) return message.content ?? "";
					messages.push(message);
					for (const { function: call, id } of message.toolCalls)
						messages.push({
							role: "tool",
							toolCallId: id,
							content: run((JSON.parse(call.arguments) as { city: string }).city),
						});
				}
			},
			async extract(content) {
				const message = await answerTo([{ role: "user", content }], {
					responseFormat: {
						type: "json_schema",
						jsonSchema: { name: "person", strict: true, schema: PERSON_SCHEMA },
					},
				});
				return JSON.parse(message.content ?? "");
			},
			async describe(text, png) {
				const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
				const content = [
					{ type: "text", text },
					{ type: "image_url", imageUrl: { url } },
				];
				return (await answerTo([{ role: "user", content }])).content ?? "";
			},
		};
	},
};
