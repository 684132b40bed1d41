/** Clients of the AI SDK: a provider makes the model, and `ai` calls it. */
import type { EmbeddingModel, LanguageModel, ModelMessage } from "ai";
import { type Context, type LocalTool, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

/** What `createOpenAI` and the other factories take and return. */
export type ProviderFactory = (options: {
	baseURL?: string;
	apiKey?: string;
	name?: string;
	headers?: Record<string, string>;
	fetch?: typeof fetch;
}) => Provider;
export type Provider = ((model: string) => LanguageModel) & {
	chat(model: string): LanguageModel;
	embedding?(model: string): EmbeddingModel;
};

/** Packages of each client of the AI SDK. */
export const AI_SDK = ["ai", "zod"] as const;

/** `imageAs`: how an image is given to a message. `takesSignal`: false for a model whose calls cannot have one. */
export async function aiSdk(
	context: Context,
	model: LanguageModel,
	{ imageAs = "bytes", takesSignal = true }: { imageAs?: "bytes" | "base64"; takesSignal?: boolean } = {},
): Promise<Operations> {
	const { generateText, isStepCount, jsonSchema, Output, streamText, tool } =
		await context.load<typeof import("ai")>("ai");
	const weather = ({ description, run }: LocalTool) =>
		tool({
			description,
			inputSchema: jsonSchema<{ city: string }>(WEATHER_SCHEMA),
			execute: async ({ city }) => run(city),
		});
	return {
		async converse(prompts) {
			const messages: ModelMessage[] = [];
			const answers: string[] = [];
			for (const content of prompts) {
				messages.push({ role: "user", content });
				const { response, text } = await generateText({ model, messages });
				messages.push(...response.messages);
				answers.push(text);
			}
			return answers;
		},
		async *stream(prompt, abortSignal) {
			const failures: unknown[] = [];
			const { textStream } = streamText({
				model,
				prompt,
				...(takesSignal && { abortSignal }),
				onError: ({ error }) => void failures.push(error),
			});
			yield* textStream;
			if (failures.length > 0) throw failures[0];
		},
		async callTools(prompt, local) {
			const { text } = await generateText({
				model,
				prompt,
				tools: { [local.name]: weather(local) },
				stopWhen: isStepCount(5),
			});
			return text;
		},
		async extract(prompt) {
			const { output } = await generateText({
				model,
				prompt,
				output: Output.object({ schema: jsonSchema(PERSON_SCHEMA) }),
			});
			return output;
		},
		async describe(text, png) {
			const data = imageAs === "bytes" ? png : Buffer.from(png).toString("base64");
			const answer = await generateText({
				model,
				messages: [
					{
						role: "user",
						content: [
							{ type: "text", text },
							{ type: "file", data, mediaType: "image/png" },
						],
					},
				],
			});
			return answer.text;
		},
	};
}

/** A client whose file has only the name of the factory and its address. */
export const aiSdkClient =
	(
		packageName: string,
		factory: string,
		address: (context: Context) => string,
		choose: (provider: Provider, model: string) => LanguageModel = (provider, model) => provider(model),
	) =>
	async (context: Context): Promise<Operations> => {
		const create = (await context.load<Record<string, ProviderFactory>>(packageName))[factory];
		if (!create) throw new Error(`${packageName} has no ${factory}`);
		const provider = create({ baseURL: address(context), apiKey: context.token, name: "ganglion" });
		return aiSdk(context, choose(provider, context.model));
	};
