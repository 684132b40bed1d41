import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Answer {
	text?: string;
	messages: object[];
}
interface XsAi {
	generateText(options: object): Promise<Answer>;
	streamText(options: object): { textStream: ReadableStream<string> };
}

export const client: Library = {
	title: "xsai",
	packages: ["xsai"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { generateText, streamText } = await load<XsAi>("xsai");
		const common = { apiKey: token, baseURL: `${base}/v1`, model };
		const userTurn = (content: string | object[]) => ({ role: "user", content });
		const ask = async (content: string | object[], options: object = {}): Promise<string> =>
			(await generateText({ ...common, messages: [userTurn(content)], ...options })).text ?? "";
		return {
			async converse(prompts) {
				let messages: object[] = [];
				const answers: string[] = [];
				for (const prompt of prompts) {
					const answer = await generateText({ ...common, messages: [...messages, userTurn(prompt)] });
					messages = answer.messages;
					answers.push(answer.text ?? "");
				}
				return answers;
			},
			async *stream(prompt, abortSignal) {
				yield* streamText({ ...common, messages: [userTurn(prompt)], abortSignal }).textStream;
			},
			callTools(prompt, { description, name, run }) {
				const weather = {
					type: "function",
					function: { name, description, parameters: WEATHER_SCHEMA },
					execute: ({ city }: { city: string }) => run(city),
				};
				return ask(prompt, { tools: [weather], maxSteps: 5 });
			},
			async extract(prompt) {
				const responseFormat = {
					type: "json_schema",
					json_schema: { name: "person", strict: true, schema: PERSON_SCHEMA },
				};
				return JSON.parse(await ask(prompt, { responseFormat }));
			},
			describe(text, png) {
				const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
				return ask([
					{ type: "text", text },
					{ type: "image_url", image_url: { url } },
				]);
			},
		};
	},
};
