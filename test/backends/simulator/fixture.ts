/** A simulator at a fixed time, with ids that count, and the models that the tests ask it for. */
import type { BackendServices, CallContext, Target } from "../../../src/backends/backend.ts";
import { simulator } from "../../../src/backends/simulator/index.ts";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import type { Model } from "../../../src/models/model.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import type {
	AssistantMessage,
	ChatChunk,
	ChatCompletion,
	ChatInput,
	ChatMessage,
	ChatTool,
	ToolCall,
} from "../../../src/tasks/text-generation/types.ts";

/** A Friday. */
export const NOW = Date.UTC(2026, 0, 2, 12);

export const target: Target = {
	backend: "local",
	kind: "simulator",
	url: "",
	model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	headers: {},
	timeouts: { headerMs: 1000, idleMs: 1000, totalMs: 1000 },
};

export const chatModel: Model = {
	id: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	uuid: "00000000-0000-4000-8000-000000000000",
	source: 1,
	task: "Text Generation",
	author: "meta",
	created: "2024-12-06",
	description: "",
	status: "active",
	input: "chat-legacy",
	output: "text-response",
	defaults: {},
	capabilities: ["function_calling", "json_mode", "streaming"],
	prices: [],
	tags: [],
};

export function services(): BackendServices {
	let count = 0;
	return {
		fetch: () => Promise.reject(new Error("the simulator has no network")),
		now: () => NOW,
		uuid: () => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, "0")}`,
		waitUntil: () => {},
		startTimer: startNativeTimer,
	};
}

export const context = (model: Partial<Model> = {}, signal = new AbortController().signal): CallContext => ({
	model: { ...chatModel, ...model },
	signal,
});

export async function run<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	model: Partial<Model> = {},
): Promise<TaskOutput<Name>> {
	const ask = simulator(target, services())[task] as
		| ((input: TaskInput<Name>, context: CallContext) => Promise<Answer<Name>>)
		| undefined;
	const answer = await ask?.(input, context(model));
	if (answer?.kind !== "value") throw new Error(`no value for ${task}`);
	return answer.output;
}

type Asked = string | ChatMessage[];
type Extra = Partial<ChatInput>;

export const inputOf = (asked: Asked, extra: Extra = {}): ChatInput => ({
	messages: typeof asked === "string" ? [user(asked)] : asked,
	stream: false,
	...extra,
});

export const chat = (asked: Asked, extra: Extra = {}, model: Partial<Model> = {}): Promise<ChatCompletion> =>
	run("text-generation", inputOf(asked, extra), model);

export async function messageOf(
	asked: Asked,
	extra: Extra = {},
	model: Partial<Model> = {},
): Promise<AssistantMessage> {
	const [choice] = (await chat(asked, extra, model)).choices;
	if (!choice) throw new Error("no choice");
	return choice.message;
}

export const contentOf = async (
	asked: Asked,
	extra: Extra = {},
	model: Partial<Model> = {},
): Promise<string> => (await messageOf(asked, extra, model)).content ?? "";

export const callsOf = async (asked: Asked, extra: Extra): Promise<{ name: string; arguments: unknown }[]> =>
	((await messageOf(asked, extra)).tool_calls ?? []).map(({ function: called }) => ({
		name: called.name,
		arguments: JSON.parse(called.arguments),
	}));

export async function streamOf(
	asked: Asked,
	extra: Extra = {},
	model: Partial<Model> = {},
	signal?: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
	const ask = simulator(target, services())["text-generation"];
	const answer = await ask?.(inputOf(asked, { ...extra, stream: true }), context(model, signal));
	if (answer?.kind !== "stream") throw new Error("no stream");
	return answer.events;
}

/** The `data` of every event of a stream, read to its end. */
export async function eventsOf(stream: ReadableStream<Uint8Array>): Promise<string[]> {
	const text = await new Response(stream).text();
	if (!text.endsWith("\n\n")) throw new Error("the stream ends within an event");
	return text
		.slice(0, -2)
		.split("\n\n")
		.map((event) => event.replace(/^data: /, ""));
}

export const chunksOf = async (stream: ReadableStream<Uint8Array>): Promise<ChatChunk[]> =>
	(await eventsOf(stream)).slice(0, -1).map((event) => JSON.parse(event) as ChatChunk);

export const user = (content: string): ChatMessage => ({ role: "user", content });
export const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
export const system = (content: string): ChatMessage => ({ role: "system", content });

export const called = (id: string, name: string, given: unknown): ChatMessage => {
	const call: ToolCall = { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
	return { role: "assistant", content: null, tool_calls: [call] };
};
export const result = (id: string, content: string): ChatMessage => ({
	role: "tool",
	tool_call_id: id,
	content,
});

export const tool = (
	name: string,
	description: string,
	properties: Record<string, unknown>,
	required: string[] = Object.keys(properties),
): ChatTool => ({
	type: "function",
	function: { name, description, parameters: { type: "object", properties, required } },
});

export const weather = tool(
	"get_weather",
	"Get the current weather for a city",
	{
		city: { type: "string", description: "Name of the city, e.g. San Francisco" },
		unit: { type: "string", enum: ["celsius", "fahrenheit"] },
		days: { type: "integer", minimum: 1, maximum: 10 },
	},
	["city"],
);
export const calculator = tool("calculator", "Evaluate an arithmetic expression", {
	expression: { type: "string" },
});
