import {
	CLAUDE_MODELS,
	GEMINI_MODELS,
	KIMI,
	type Library,
	OPENAI_MODELS,
	WEATHER_SCHEMA,
} from "../library/client.ts";

interface Message {
	content: { type: string; text?: string; id: string; name: string; arguments: { city: string } }[];
	stopReason: string;
	errorMessage?: string;
}
type Options = { apiKey: string; signal?: AbortSignal };
interface PiAi {
	complete(model: object, context: object, options: Options): Promise<Message>;
	stream(
		model: object,
		context: object,
		options: Options,
	): AsyncIterable<{ type: string; delta?: string; error?: Message }>;
}

/** The formats of its built-in providers, by the names of the models. */
function providerOf(model: string, base: string): { api: string; baseUrl: string } {
	if (model.startsWith("claude")) return { api: "anthropic-messages", baseUrl: base };
	if (model.startsWith("gemini")) return { api: "google-generative-ai", baseUrl: `${base}/v1beta` };
	return { api: model.startsWith("gpt") ? "openai-responses" : "openai-completions", baseUrl: `${base}/v1` };
}

export const client: Library = {
	title: "@mariozechner/pi-ai",
	packages: ["@mariozechner/pi-ai"],
	models: [...OPENAI_MODELS, ...CLAUDE_MODELS, ...GEMINI_MODELS, KIMI],
	unsupported: { structured: "its options have no schema of the answer (dist/types.d.ts, `StreamOptions`)" },
	async open({ base, load, model: id, token }) {
		const { complete, stream } = await load<PiAi>("@mariozechner/pi-ai");
		const model = {
			...providerOf(id, base),
			...{ id, name: id, provider: "ganglion", reasoning: true, input: ["text", "image"] },
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
			contextWindow: 128_000,
			maxTokens: 16_000,
		};
		const userTurn = (content: string | object[]): object => ({
			role: "user",
			content,
			timestamp: Date.now(),
		});
		const textOf = ({ content }: Message): string => content.map(({ text = "" }) => text).join("");
		const answerTo = async (messages: object[], tools: object[] = []): Promise<Message> => {
			const answer = await complete(model, { messages, tools }, { apiKey: token });
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
				for await (const { delta = "", error, type } of stream(
					model,
					{ messages: [userTurn(prompt)] },
					{ apiKey: token, signal },
				)) {
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
			async describe(text, png) {
				const data = Buffer.from(png).toString("base64");
				const content = [
					{ type: "text", text },
					{ type: "image", data, mimeType: "image/png" },
				];
				return textOf(await answerTo([userTurn(content)]));
			},
		};
	},
};
