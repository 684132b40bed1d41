/** Clients that are, or wrap, OpenAI's SDK: chat completions, and responses with and without a stored conversation. */
import type OpenAI from "openai";
import { type LocalTool, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];

const City = (text: string): string => (JSON.parse(text) as { city: string }).city;

export function chatCompletions(client: Pick<OpenAI, "chat">, model: string): Operations {
	const { completions } = client.chat;
	return {
		async converse(prompts) {
			const messages: Messages = [];
			for (const content of prompts) {
				messages.push({ role: "user", content });
				const { choices } = await completions.create({ model, messages });
				if (choices[0]) messages.push(choices[0].message);
			}
			return answersOf(messages);
		},
		async *stream(content, signal) {
			const chunks = await completions.create(
				{ model, messages: [{ role: "user", content }], stream: true },
				{ signal },
			);
			for await (const { choices } of chunks) yield choices[0]?.delta.content ?? "";
		},
		async callTools(content, tool) {
			const messages: Messages = [{ role: "user", content }];
			for (;;) {
				const { choices } = await completions.create({ model, messages, tools: [chatTool(tool)] });
				const message = choices[0]?.message;
				if (!message) throw new Error("an answer has no message");
				if (!message.tool_calls?.length) return message.content ?? "";
				messages.push(message);
				for (const call of message.tool_calls)
					if (call.type === "function")
						messages.push({
							role: "tool",
							tool_call_id: call.id,
							content: tool.run(City(call.function.arguments)),
						});
			}
		},
		async extract(content) {
			const { choices } = await completions.create({
				model,
				messages: [{ role: "user", content }],
				response_format: {
					type: "json_schema",
					json_schema: { name: "person", strict: true, schema: PERSON_SCHEMA },
				},
			});
			return JSON.parse(choices[0]?.message.content ?? "");
		},
		async describe(text, png) {
			const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			const { choices } = await completions.create({
				model,
				messages: [
					{
						role: "user",
						content: [
							{ type: "text", text },
							{ type: "image_url", image_url: { url } },
						],
					},
				],
			});
			return choices[0]?.message.content ?? "";
		},
	};
}

const chatTool = ({ description, name }: LocalTool): OpenAI.ChatCompletionTool => ({
	type: "function",
	function: { name, description, parameters: WEATHER_SCHEMA },
});

const answersOf = (messages: Messages): string[] =>
	messages.flatMap(({ content, role }) =>
		role === "assistant" && typeof content === "string" ? [content] : [],
	);

/** `history`: the client sends all items again, or the id of the previous response, or that of a conversation. */
export function responses(
	client: Pick<OpenAI, "responses" | "conversations">,
	model: string,
	history: "items" | "previous response" | "conversation",
): Operations {
	type Input = OpenAI.Responses.ResponseInput;
	type Parameters = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "model" | "input">;

	/** Returns a function that sends the next items of one conversation. */
	async function open(
		parameters: Parameters = {},
	): Promise<(input: Input) => Promise<OpenAI.Responses.Response>> {
		if (history === "conversation") {
			const { id } = await client.conversations.create();
			return (input) => client.responses.create({ ...parameters, model, input, conversation: id });
		}
		if (history === "previous response") {
			let previous_response_id: string | undefined;
			return async (input) => {
				const response = await client.responses.create({
					...parameters,
					model,
					input,
					...(previous_response_id !== undefined && { previous_response_id }),
				});
				previous_response_id = response.id;
				return response;
			};
		}
		const items: Input = [];
		return async (input) => {
			items.push(...input);
			const response = await client.responses.create({
				...parameters,
				model,
				input: items,
				store: false,
				include: ["reasoning.encrypted_content"],
			});
			items.push(...(response.output as Input));
			return response;
		};
	}

	return {
		async converse(prompts) {
			const send = await open();
			const answers: string[] = [];
			for (const content of prompts) answers.push((await send([{ role: "user", content }])).output_text);
			return answers;
		},
		async *stream(input, signal) {
			const events = await client.responses.create({ model, input, stream: true }, { signal });
			for await (const event of events) if (event.type === "response.output_text.delta") yield event.delta;
		},
		async callTools(content, { description, name, run }) {
			const send = await open({
				tools: [{ type: "function", name, description, parameters: WEATHER_SCHEMA, strict: true }],
			});
			let response = await send([{ role: "user", content }]);
			for (;;) {
				const calls = response.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
				if (calls.length === 0) return response.output_text;
				response = await send(
					calls.map((call) => ({
						type: "function_call_output",
						call_id: call.call_id,
						output: run(City(call.arguments)),
					})),
				);
			}
		},
		async extract(input) {
			const response = await client.responses.create({
				model,
				input,
				text: { format: { type: "json_schema", name: "person", strict: true, schema: PERSON_SCHEMA } },
			});
			return JSON.parse(response.output_text);
		},
		async describe(text, png) {
			const image_url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			const response = await client.responses.create({
				model,
				input: [
					{
						role: "user",
						content: [
							{ type: "input_text", text },
							{ type: "input_image", image_url, detail: "auto" },
						],
					},
				],
			});
			return response.output_text;
		},
	};
}
