/** Plugins of Genkit: a plugin serves the model's reference, and `ai.generate` calls it. */
import { type Context, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

interface Answer {
	text: string;
	output: unknown;
	messages: object[];
}
interface Ai {
	generate(options: object): Promise<Answer>;
	generateStream(options: object): { stream: AsyncIterable<{ text: string }>; response: Promise<Answer> };
	defineTool(options: object, run: (input: { city: string }) => Promise<string>): object;
}
type Genkit = (options: { plugins: object[] }) => Ai;

/** `model`: the name of the plugin and of its model, with a slash between them. */
export async function genkit({ load }: Context, plugin: object, model: string): Promise<Operations> {
	const { genkit: create } = await load<{ genkit: Genkit }>("genkit");
	const ai = create({ plugins: [plugin] });
	return {
		async converse(prompts) {
			let messages: object[] = [];
			const answers: string[] = [];
			for (const prompt of prompts) {
				const answer = await ai.generate({ model, messages, prompt });
				messages = answer.messages;
				answers.push(answer.text);
			}
			return answers;
		},
		async *stream(prompt, abortSignal) {
			const { response, stream } = ai.generateStream({ model, prompt, abortSignal });
			// Its failure is that of the stream.
			response.catch(() => {});
			for await (const { text } of stream) yield text;
			await response;
		},
		async callTools(prompt, { description, name, run }) {
			const tool = ai.defineTool({ name, description, inputJsonSchema: WEATHER_SCHEMA }, async ({ city }) =>
				run(city),
			);
			return (await ai.generate({ model, prompt, tools: [tool] })).text;
		},
		async extract(prompt) {
			const { output } = await ai.generate({ model, prompt, output: { jsonSchema: PERSON_SCHEMA } });
			return output;
		},
		async describe(text, png) {
			const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			const prompt = [{ media: { contentType: "image/png", url } }, { text }];
			return (await ai.generate({ model, prompt })).text;
		},
	};
}
