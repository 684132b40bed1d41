import { GEMINI_MODELS, KIMI, type Library, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Part {
	text?: string;
	inlineData?: { mimeType: string; data: string };
	functionCall?: { name: string; args: { city?: string } };
	functionResponse?: { name: string; response: object };
}
interface Content {
	role: string;
	parts: Part[];
}
interface Answer {
	text(): string;
	functionCalls(): NonNullable<Part["functionCall"]>[] | undefined;
	candidates?: { content: Content }[];
}
interface Model {
	generateContent(request: object): Promise<{ response: Answer }>;
	generateContentStream(
		request: object,
		options: { signal: AbortSignal },
	): Promise<{ stream: AsyncIterable<Answer> }>;
}
type Constructor = new (
	key: string,
) => { getGenerativeModel(model: object, options: { baseUrl: string }): Model };

/** Its schemas have no `additionalProperties`. */
const withoutAdditional = ({
	additionalProperties: _,
	...schema
}: {
	additionalProperties: boolean;
}): object => schema;

export const client: Library = {
	title: "@google/generative-ai",
	packages: ["@google/generative-ai"],
	models: [...GEMINI_MODELS, KIMI],
	async open({ base, load, model: name, token }) {
		const module = await load<{ GoogleGenerativeAI: Constructor }>("@google/generative-ai");
		const google = new module.GoogleGenerativeAI(token);
		const model = google.getGenerativeModel({ model: name }, { baseUrl: base });
		const ask = async (contents: readonly Content[], fields: object = {}): Promise<Answer> =>
			(await model.generateContent({ contents, ...fields })).response;
		const user = (...parts: Part[]): Content => ({ role: "user", parts });
		return {
			async converse(prompts) {
				const contents: Content[] = [];
				const answers: string[] = [];
				for (const text of prompts) {
					contents.push(user({ text }));
					const answer = await ask(contents);
					if (answer.candidates?.[0]) contents.push(answer.candidates[0].content);
					answers.push(answer.text());
				}
				return answers;
			},
			async *stream(text, signal) {
				const { stream } = await model.generateContentStream({ contents: [user({ text })] }, { signal });
				for await (const answer of stream) yield answer.text();
			},
			async callTools(text, { description, name: tool, run }) {
				const parameters = withoutAdditional(WEATHER_SCHEMA);
				const tools = [{ functionDeclarations: [{ name: tool, description, parameters }] }];
				const contents: Content[] = [user({ text })];
				for (;;) {
					const answer = await ask(contents, { tools });
					const calls = answer.functionCalls() ?? [];
					if (calls.length === 0) return answer.text();
					if (answer.candidates?.[0]) contents.push(answer.candidates[0].content);
					contents.push({
						role: "function",
						parts: calls.map(({ args, name: called }) => ({
							functionResponse: { name: called, response: { output: run(String(args.city)) } },
						})),
					});
				}
			},
			async extract(text) {
				const generationConfig = {
					responseMimeType: "application/json",
					responseSchema: withoutAdditional(PERSON_SCHEMA),
				};
				return JSON.parse((await ask([user({ text })], { generationConfig })).text());
			},
			async describe(text, png) {
				const data = Buffer.from(png).toString("base64");
				return (await ask([user({ text }, { inlineData: { mimeType: "image/png", data } })])).text();
			},
		};
	},
};
