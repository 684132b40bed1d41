/** Chat models of LangChain. */
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type * as Messages from "@langchain/core/messages";
import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { type Context, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

interface Runnable<Output> {
	invoke(input: BaseLanguageModelInput, options?: { signal?: AbortSignal }): Promise<Output>;
}

export interface ChatModel extends Runnable<AIMessage> {
	stream(
		input: BaseLanguageModelInput,
		options?: { signal?: AbortSignal },
	): Promise<AsyncIterable<AIMessageChunk>>;
	bindTools(tools: readonly object[]): Runnable<AIMessage>;
	withStructuredOutput(schema: object, options?: object): Runnable<Record<string, unknown>>;
}

/** A title, because LangChain names the schema after it. */
const PERSON = { title: "person", description: "A person", ...PERSON_SCHEMA };

export async function langchain(context: Context, model: ChatModel): Promise<Operations> {
	const { HumanMessage, ToolMessage } = await context.load<typeof Messages>("@langchain/core/messages");
	return {
		async converse(prompts) {
			const messages: BaseMessage[] = [];
			const answers: string[] = [];
			for (const prompt of prompts) {
				messages.push(new HumanMessage(prompt));
				const answer = await model.invoke(messages);
				messages.push(answer);
				answers.push(answer.text);
			}
			return answers;
		},
		async *stream(prompt, signal) {
			for await (const chunk of await model.stream(prompt, { signal })) yield chunk.text;
		},
		async callTools(prompt, { description, name, run }) {
			const bound = model.bindTools([
				{ type: "function", function: { name, description, parameters: WEATHER_SCHEMA } },
			]);
			const messages: BaseMessage[] = [new HumanMessage(prompt)];
			for (;;) {
				const answer = await bound.invoke(messages);
				const { tool_calls: calls = [] } = answer;
				if (calls.length === 0) return answer.text;
				messages.push(answer);
				for (const { args, id = "", name: called } of calls)
					messages.push(new ToolMessage({ content: run(String(args.city)), tool_call_id: id, name: called }));
			}
		},
		extract: (prompt) => model.withStructuredOutput(PERSON).invoke(prompt),
		async describe(text, png) {
			const message = new HumanMessage({
				contentBlocks: [
					{ type: "text", text },
					{ type: "image", mimeType: "image/png", data: Buffer.from(png).toString("base64") },
				],
			});
			const answer = await model.invoke([message]);
			return answer.text;
		},
	};
}

/** An image as OpenAI's part, for models that do not read LangChain's own blocks. */
export const describeByUrl = (model: ChatModel) => async (text: string, png: Uint8Array) => {
	const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
	const content = [
		{ type: "text", text },
		{ type: "image_url", image_url: { url } },
	];
	return (await model.invoke([{ role: "user", content }])).text;
};
