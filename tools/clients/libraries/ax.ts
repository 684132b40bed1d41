import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Call {
	id: string;
	function: { name: string; params?: string | { city: string } };
}
interface Result {
	content?: string;
	functionCalls?: Call[];
}
interface Answer {
	results: Result[];
}
interface Service {
	chat(
		request: object,
		options: { stream: true; abortSignal: AbortSignal | undefined },
	): Promise<ReadableStream<Answer>>;
	chat(request: object, options: { stream: false }): Promise<Answer>;
}
type CreateAi = (options: object) => Service;

export const client: Library = {
	title: "@ax-llm/ax",
	packages: ["@ax-llm/ax"],
	// For models that only Responses serves with effort, it calls api.openai.com in spite of `apiURL` (index.js, `url()` of its Responses).
	models: [...OPENAI_MODELS.filter((name) => name !== "gpt-6-astra"), KIMI],
	sentences: { 401: /^Authentication failed/ },
	async open({ base, load, model, token }) {
		const { ai } = await load<{ ai: CreateAi }>("@ax-llm/ax");
		const service = ai({ name: "openai", apiKey: token, apiURL: `${base}/v1`, config: { model } });
		const answerTo = async (chatPrompt: object[], fields: object = {}): Promise<Result> =>
			(await service.chat({ chatPrompt, ...fields }, { stream: false })).results[0] ?? {};
		const userTurn = (content: string | object[]): object => ({ role: "user", content });
		return {
			async converse(prompts) {
				const messages: object[] = [];
				const answers: string[] = [];
				for (const prompt of prompts) {
					messages.push(userTurn(prompt));
					const { content = "" } = await answerTo(messages);
					messages.push({ role: "assistant", content });
					answers.push(content);
				}
				return answers;
			},
			async *stream(prompt, abortSignal) {
				const request = { chatPrompt: [userTurn(prompt)] };
				for await (const { results } of await service.chat(request, { stream: true, abortSignal }))
					yield results[0]?.content ?? "";
			},
			async callTools(prompt, { description, name, run }) {
				const functions = [{ name, description, parameters: WEATHER_SCHEMA }];
				const messages = [userTurn(prompt)];
				for (;;) {
					const { content = "", functionCalls = [] } = await answerTo(messages, { functions });
					if (functionCalls.length === 0) return content;
					messages.push({ role: "assistant", functionCalls });
					for (const { function: call, id: functionId } of functionCalls) {
						const { params = "{}" } = call;
						const { city } = typeof params === "string" ? (JSON.parse(params) as { city: string }) : params;
						messages.push({ role: "function", functionId, result: run(city) });
					}
				}
			},
			async extract(prompt) {
				const responseFormat = {
					type: "json_schema",
					schema: { name: "person", strict: true, schema: PERSON_SCHEMA },
				};
				return JSON.parse((await answerTo([userTurn(prompt)], { responseFormat })).content ?? "");
			},
			async describe(text, png) {
				const image = Buffer.from(png).toString("base64");
				const parts = [
					{ type: "text", text },
					{ type: "image", mimeType: "image/png", image },
				];
				return (await answerTo([userTurn(parts)])).content ?? "";
			},
		};
	},
};
