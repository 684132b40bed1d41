/** Clients with pi's messages: `@earendil-works/pi-ai`, and its earlier releases under another name. */
import { type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

export interface Message {
	content: { type: string; text?: string; id: string; name: string; arguments: { city: string } }[];
	stopReason: string;
	errorMessage?: string;
}
interface Options {
	apiKey: string;
	signal?: AbortSignal;
	/** Returns what is sent instead of the payload. */
	onPayload?(payload: object, model: { api: string }): object;
}
export interface Pi {
	complete(model: object, context: object, options: Options): Promise<Message>;
	stream(
		model: object,
		context: object,
		options: Options,
	): AsyncIterable<{ type: string; delta?: string; error?: Message }>;
}

/** Its options have no schema of the answer. Its hook for the payload adds the vendor's field. */
function withSchema(payload: { text?: object; config?: object }, { api }: { api: string }): object {
	const schema = PERSON_SCHEMA;
	const named = { name: "person", strict: true, schema };
	switch (api) {
		case "anthropic-messages":
			return { ...payload, output_config: { format: { type: "json_schema", schema } } };
		case "google-generative-ai": {
			const format = { responseMimeType: "application/json", responseJsonSchema: schema };
			return { ...payload, config: { ...payload.config, ...format } };
		}
		case "openai-responses":
			return { ...payload, text: { ...payload.text, format: { type: "json_schema", ...named } } };
		default:
			return { ...payload, response_format: { type: "json_schema", json_schema: named } };
	}
}

export function pi(client: Pi, model: object, apiKey: string): Operations {
	const userTurn = (content: string | object[]): object => ({ role: "user", content, timestamp: Date.now() });
	const textOf = ({ content }: Message): string => content.map(({ text = "" }) => text).join("");
	const answerTo = async (
		messages: object[],
		tools: object[] = [],
		options: Partial<Options> = {},
	): Promise<Message> => {
		const answer = await client.complete(model, { messages, tools }, { apiKey, ...options });
		if (answer.stopReason === "error") throw new Error(answer.errorMessage);
		return answer;
	};
	return {
		async converse(prompts) {
			const messages: object[] = [];
			const answers: string[] = [];
			for (const prompt of prompts) {
				messages.push(userTurn(prompt));
				const answer = await answerTo(messages);
				messages.push(answer);
				answers.push(textOf(answer));
			}
			return answers;
		},
		async *stream(prompt, signal) {
			const context = { messages: [userTurn(prompt)] };
			for await (const { delta = "", error, type } of client.stream(model, context, { apiKey, signal })) {
				if (error) throw new Error(error.errorMessage);
				if (type === "text_delta") yield delta;
			}
		},
		async callTools(prompt, { description, name, run }) {
			const messages = [userTurn(prompt)];
			for (;;) {
				const answer = await answerTo(messages, [{ name, description, parameters: WEATHER_SCHEMA }]);
				const calls = answer.content.filter(({ type }) => type === "toolCall");
				if (calls.length === 0) return textOf(answer);
				messages.push(answer);
				for (const { arguments: input, id: toolCallId, name: toolName } of calls)
					messages.push({
						...{ role: "toolResult", toolCallId, toolName, isError: false, timestamp: Date.now() },
						content: [{ type: "text", text: run(input.city) }],
					});
			}
		},
		async extract(prompt) {
			return JSON.parse(textOf(await answerTo([userTurn(prompt)], [], { onPayload: withSchema })));
		},
		async describe(text, png) {
			const data = Buffer.from(png).toString("base64");
			const content = [
				{ type: "text", text },
				{ type: "image", data, mimeType: "image/png" },
			];
			return textOf(await answerTo([userTurn(content)]));
		},
	};
}
