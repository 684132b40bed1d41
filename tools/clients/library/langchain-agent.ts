/** Agents of LangChain. */
import { type Context, type Operations, PERSON_SCHEMA, WEATHER_SCHEMA } from "./client.ts";

interface Message {
	text: string;
}
interface Agent {
	invoke(state: object): Promise<{ messages: Message[]; structuredResponse?: unknown }>;
	stream(
		state: object,
		options: { streamMode: "messages"; signal: AbortSignal },
	): Promise<AsyncIterable<[Message, unknown]>>;
}
/** `createAgent` of LangChain, or another function with its options. */
export type CreateAgent = (options: object) => Agent;
interface LangChain {
	tool(run: (input: { city: string }) => string, options: object): object;
	/** The object is the arguments of a tool. */
	toolStrategy(schema: object): object;
}

/** Packages of each client of these agents. */
export const LANGCHAIN_AGENT = [
	"langchain",
	"@langchain/openai",
	"@langchain/core",
	"@langchain/langgraph",
] as const;

export async function langchainAgent(
	{ base, load, model: id, token }: Context,
	create: CreateAgent,
	{ structuredBy = "default" }: { structuredBy?: "default" | "tool" } = {},
): Promise<Operations> {
	const { tool, toolStrategy } = await load<LangChain>("langchain");
	const { ChatOpenAI } = await load<{ ChatOpenAI: new (options: object) => object }>("@langchain/openai");
	const model = new ChatOpenAI({ model: id, apiKey: token, configuration: { baseURL: `${base}/v1` } });
	const open = (options: object = {}) => create({ model, tools: [], ...options });
	const userTurn = (content: string | object[]) => ({ role: "user", content });
	const answerOf = async (agent: Agent, content: string | object[]): Promise<string> =>
		(await agent.invoke({ messages: [userTurn(content)] })).messages.at(-1)?.text ?? "";
	return {
		async converse(prompts) {
			const agent = open();
			let messages: object[] = [];
			const answers: string[] = [];
			for (const prompt of prompts) {
				const state = await agent.invoke({ messages: [...messages, userTurn(prompt)] });
				messages = state.messages;
				answers.push(state.messages.at(-1)?.text ?? "");
			}
			return answers;
		},
		async *stream(prompt, signal) {
			const chunks = await open().stream(
				{ messages: [userTurn(prompt)] },
				{ streamMode: "messages", signal },
			);
			for await (const [{ text }] of chunks) yield text;
		},
		callTools: (prompt, { description, name, run }) =>
			answerOf(
				open({ tools: [tool(({ city }) => run(city), { name, description, schema: WEATHER_SCHEMA })] }),
				prompt,
			),
		async extract(prompt) {
			const schema = { title: "person", ...PERSON_SCHEMA };
			const agent = open({ responseFormat: structuredBy === "tool" ? toolStrategy(schema) : schema });
			return (await agent.invoke({ messages: [userTurn(prompt)] })).structuredResponse;
		},
		describe(text, png) {
			const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			return answerOf(open(), [
				{ type: "text", text },
				{ type: "image_url", image_url: { url } },
			]);
		},
	};
}
