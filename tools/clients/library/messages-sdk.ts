/** Clients that are, or wrap, Anthropic's SDK. */
import type Anthropic from "@anthropic-ai/sdk";
import { type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

const MAX_TOKENS = 1024;

export function messages(client: Pick<Anthropic, "messages">, model: string): Operations {
	const limit = { model, max_tokens: MAX_TOKENS } as const;
	return {
		async converse(prompts) {
			const turns: Anthropic.MessageParam[] = [];
			const answers: string[] = [];
			for (const content of prompts) {
				turns.push({ role: "user", content });
				const message = await client.messages.create({ ...limit, messages: turns });
				turns.push({ role: "assistant", content: message.content });
				answers.push(textOf(message));
			}
			return answers;
		},
		async *stream(content, signal) {
			const stream = client.messages.stream({ ...limit, messages: [{ role: "user", content }] }, { signal });
			for await (const event of stream)
				if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
		},
		async callTools(content, { description, name, run }) {
			const turns: Anthropic.MessageParam[] = [{ role: "user", content }];
			for (;;) {
				const message = await client.messages
					.stream({
						...limit,
						messages: turns,
						tools: [{ name, description, input_schema: { ...WEATHER_SCHEMA, required: ["city"] } }],
					})
					.finalMessage();
				const calls = message.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
				if (calls.length === 0) return textOf(message);
				turns.push(
					{ role: "assistant", content: message.content },
					{
						role: "user",
						content: calls.map(({ id, input }) => ({
							type: "tool_result",
							tool_use_id: id,
							content: run((input as { city: string }).city),
						})),
					},
				);
			}
		},
		async extract(content) {
			const message = await client.messages.create({
				...limit,
				messages: [{ role: "user", content }],
				output_config: { format: { type: "json_schema", schema: PERSON_SCHEMA } },
			});
			return JSON.parse(textOf(message));
		},
		async describe(text, png) {
			const data = Buffer.from(png).toString("base64");
			const message = await client.messages.create({
				...limit,
				messages: [
					{
						role: "user",
						content: [
							{ type: "image", source: { type: "base64", media_type: "image/png", data } },
							{ type: "text", text },
						],
					},
				],
			});
			return textOf(message);
		},
	};
}

const textOf = ({ content }: Anthropic.Message): string =>
	content.map((block) => (block.type === "text" ? block.text : "")).join("");
