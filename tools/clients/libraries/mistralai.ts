import { KIMI, type Library, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Message {
	content: string;
	toolCalls?: { id: string; function: { name: string; arguments: string } }[] | null;
}

interface Mistral {
	chat: {
		complete(request: object): Promise<{ choices: { message: Message }[] }>;
		stream(
			request: object,
			options: { fetchOptions: { signal: AbortSignal } },
		): Promise<AsyncIterable<{ data: { choices: { delta: { content?: string | null } }[] } }>>;
	};
}

export const client: Library = {
	title: "@mistralai/mistralai",
	packages: ["@mistralai/mistralai"],
	models: [KIMI, "mistral-medium-latest"],
	async open({ base, load, model, token }) {
		const module = await load<{ Mistral: new (options: object) => Mistral }>("@mistralai/mistralai");
		// The SDK adds `/v1`.
		const { chat } = new module.Mistral({ apiKey: token, serverURL: base });
		const send = async (messages: object[], fields: object = {}): Promise<Message> => {
			const { choices } = await chat.complete({ model, messages, ...fields });
			if (!choices[0]) throw new Error("an answer has no choice");
			return choices[0].message;
		};
		return {
			async converse(prompts) {
				const messages: object[] = [];
				const answers: string[] = [];
				for (const content of prompts) {
					messages.push({ role: "user", content });
					const answer = await send(messages);
					messages.push({ ...answer, role: "assistant" });
					answers.push(answer.content);
				}
				return answers;
			},
			async *stream(content, signal) {
				const events = await chat.stream(
					{ model, messages: [{ role: "user", content }] },
					{ fetchOptions: { signal } },
				);
				for await (const { data } of events) yield data.choices[0]?.delta.content ?? "";
			},
			async callTools(content, { description, name, run }) {
				const tools = [{ type: "function", function: { name, description, parameters: WEATHER_SCHEMA } }];
				const messages: object[] = [{ role: "user", content }];
				for (;;) {
					const answer = await send(messages, { tools });
					if (!answer.toolCalls?.length) return answer.content;
					messages.push({ ...answer, role: "assistant" });
					for (const call of answer.toolCalls)
						messages.push({
							role: "tool",
							toolCallId: call.id,
							name: call.function.name,
							content: run((JSON.parse(call.function.arguments) as { city: string }).city),
						});
				}
			},
			async extract(content) {
				const answer = await send([{ role: "user", content }], {
					responseFormat: {
						type: "json_schema",
						jsonSchema: { name: "person", strict: true, schemaDefinition: PERSON_SCHEMA },
					},
				});
				return JSON.parse(answer.content);
			},
			async describe(text, png) {
				const imageUrl = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
				const content = [
					{ type: "text", text },
					{ type: "image_url", imageUrl },
				];
				return (await send([{ role: "user", content }])).content;
			},
		};
	},
};
