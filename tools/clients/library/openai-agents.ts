/** OpenAI's Agents SDK, with its own history or that of the host. */
import { type Context, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

interface RunResult {
	finalOutput: unknown;
	history: object[];
	lastResponseId?: string;
}

/** The exports of `@openai/agents` that are used here. */
interface AgentsModule {
	Agent: new (options: object) => object;
	OpenAIProvider: new (options: object) => object;
	Runner: new (
		options: object,
	) => {
		run(
			agent: object,
			input: string | object[],
			options: { stream: true; signal: AbortSignal },
		): Promise<{ toTextStream(): AsyncIterable<string>; completed: Promise<void> }>;
		run(agent: object, input: string | object[], options?: object): Promise<RunResult>;
	};
	tool(options: object): object;
	setTracingDisabled(disabled: boolean): void;
}

export async function openaiAgents(
	{ base, load, model, token }: Context,
	history: "own" | "previous response" | "chat completions",
): Promise<Operations> {
	const { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } =
		await load<AgentsModule>("@openai/agents");
	setTracingDisabled(true);
	const modelProvider = new OpenAIProvider({
		apiKey: token,
		baseURL: `${base}/v1`,
		useResponses: history !== "chat completions",
	});
	const runner = new Runner({ modelProvider });
	const instructions = "Be short.";
	const agent = new Agent({ name: "Tester", instructions, model });
	return {
		async converse(prompts) {
			const answers: string[] = [];
			let before: object[] = [];
			let previousResponseId: string | undefined;
			for (const content of prompts) {
				const user = { role: "user", content };
				const result =
					history === "previous response"
						? await runner.run(agent, [user], previousResponseId === undefined ? {} : { previousResponseId })
						: await runner.run(agent, [...before, user]);
				before = result.history;
				previousResponseId = result.lastResponseId;
				answers.push(String(result.finalOutput));
			}
			return answers;
		},
		async *stream(prompt, signal) {
			const result = await runner.run(agent, prompt, { stream: true, signal });
			yield* result.toTextStream();
			await result.completed;
		},
		async callTools(prompt, { description, name, run }) {
			const weather = tool({
				name,
				description,
				parameters: WEATHER_SCHEMA,
				strict: true,
				execute: ({ city }: { city: string }) => run(city),
			});
			const result = await runner.run(
				new Agent({ name: "Tester", instructions, model, tools: [weather] }),
				prompt,
			);
			return String(result.finalOutput);
		},
		async extract(prompt) {
			const outputType = { type: "json_schema", name: "person", strict: true, schema: PERSON_SCHEMA };
			const result = await runner.run(new Agent({ name: "Tester", instructions, model, outputType }), prompt);
			return result.finalOutput;
		},
		async describe(text, png) {
			const image = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			const content = [
				{ type: "input_text", text },
				{ type: "input_image", image },
			];
			const result = await runner.run(agent, [{ role: "user", content }]);
			return String(result.finalOutput);
		},
	};
}
