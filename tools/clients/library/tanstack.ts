/** Adapters of TanStack AI. */
import { type Context, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

interface Chunk {
	type: string;
	delta?: string;
	message?: string;
	error?: { message: string };
}

type Chat = (options: {
	adapter: object;
	messages: readonly object[];
	tools?: readonly object[];
	outputSchema?: object;
	agentLoopStrategy?: object;
	abortController?: AbortController;
	stream?: boolean;
	debug?: boolean;
}) => AsyncIterable<Chunk> & Promise<unknown>;

interface TanstackModule {
	chat: Chat;
	maxIterations(count: number): object;
	toolDefinition(options: object): { server(run: (input: { city: string }) => Promise<unknown>): object };
}

export async function tanstack({ load }: Context, adapter: object): Promise<Operations> {
	const { chat, maxIterations, toolDefinition } = await load<TanstackModule>("@tanstack/ai");
	async function* texts(options: Omit<Parameters<Chat>[0], "adapter">): AsyncGenerator<string> {
		for await (const { delta = "", error, message, type } of chat({ adapter, debug: false, ...options })) {
			if (type === "RUN_ERROR") throw new Error(error?.message ?? message ?? "the run failed");
			if (type === "TEXT_MESSAGE_CONTENT") yield delta;
		}
	}
	const joined = async (options: Parameters<typeof texts>[0]): Promise<string> => {
		let text = "";
		for await (const piece of texts(options)) text += piece;
		return text;
	};
	return {
		async converse(prompts) {
			const messages: object[] = [];
			const answers: string[] = [];
			for (const content of prompts) {
				messages.push({ role: "user", content });
				const answer = await joined({ messages });
				messages.push({ role: "assistant", content: answer });
				answers.push(answer);
			}
			return answers;
		},
		stream(content, signal) {
			const abortController = new AbortController();
			signal.addEventListener("abort", () => abortController.abort());
			return texts({ messages: [{ role: "user", content }], abortController });
		},
		callTools(content, { description, name, run }) {
			const weather = toolDefinition({ name, description, inputSchema: WEATHER_SCHEMA });
			return joined({
				messages: [{ role: "user", content }],
				tools: [weather.server(async ({ city }) => ({ report: run(city) }))],
				agentLoopStrategy: maxIterations(5),
			});
		},
		extract: (content) =>
			chat({
				adapter,
				messages: [{ role: "user", content }],
				outputSchema: PERSON_SCHEMA,
				debug: false,
			}),
		describe(text, png) {
			const value = Buffer.from(png).toString("base64");
			const content = [
				{ type: "text", content: text },
				{ type: "image", source: { type: "data", value, mimeType: "image/png" } },
			];
			return joined({ messages: [{ role: "user", content }] });
		},
	};
}
