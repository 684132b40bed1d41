import { KIMI, type Library, OPENAI_MODELS, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

interface Agent {
	invoke(input: string | object[]): Promise<{ toString(): string; structuredOutput?: unknown }>;
	stream(input: string, options: { cancelSignal: AbortSignal }): AsyncIterable<StreamEvent>;
}
interface StreamEvent {
	type: string;
	event?: { type: string; delta?: { type: string; text?: string } };
}
interface Strands {
	Agent: new (options: object) => Agent;
	tool(options: object): object;
	ImageBlock: new (options: object) => object;
	TextBlock: new (text: string) => object;
}
type Model = new (options: object) => object;

export const client: Library = {
	title: "@strands-agents/sdk",
	packages: ["@strands-agents/sdk", "@modelcontextprotocol/sdk", "@opentelemetry/api", "openai", "zod"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model: modelId, token }) {
		const strands = await load<Strands>("@strands-agents/sdk");
		const { OpenAIModel } = await load<{ OpenAIModel: Model }>("@strands-agents/sdk/models/openai");
		const { fromJSONSchema } = await load<{ fromJSONSchema(schema: object): object }>("zod");
		const model = new OpenAIModel({ modelId, apiKey: token, clientConfig: { baseURL: `${base}/v1` } });
		const open = (options: object = {}) => new strands.Agent({ model, printer: false, ...options });
		return {
			async converse(prompts) {
				const agent = open();
				const answers: string[] = [];
				for (const prompt of prompts) answers.push(String(await agent.invoke(prompt)));
				return answers;
			},
			async *stream(prompt, cancelSignal) {
				for await (const { event, type } of open().stream(prompt, { cancelSignal }))
					if (type === "modelStreamUpdateEvent" && event?.delta?.type === "textDelta")
						yield event.delta.text ?? "";
			},
			async callTools(prompt, { description, name, run }) {
				const weather = strands.tool({
					name,
					description,
					inputSchema: WEATHER_SCHEMA,
					callback: ({ city }: { city: string }) => run(city),
				});
				return String(await open({ tools: [weather] }).invoke(prompt));
			},
			async extract(prompt) {
				const agent = open({ structuredOutputSchema: fromJSONSchema(PERSON_SCHEMA) });
				return (await agent.invoke(prompt)).structuredOutput;
			},
			async describe(text, png) {
				const image = new strands.ImageBlock({ format: "png", source: { bytes: png } });
				return String(await open().invoke([new strands.TextBlock(text), image]));
			},
		};
	},
};
