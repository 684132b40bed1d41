/** A recorded request of an agent, sent to a gateway with a scripted engine behind it. */
import { BASE, DONE, delta, ENGINE_VARS, events, finish, testGateway, upstream, usage } from "../gateway.ts";

interface Fixture {
	path: string;
	headers: Readonly<Record<string, string | undefined>>;
	body: unknown;
}

interface EngineMessage {
	role: string;
	content?: string | null | { type: string; text?: string }[];
	tool_calls?: { id: string; function: { name: string; arguments: string } }[];
	tool_call_id?: string;
}

interface EngineRequest {
	model: string;
	stream: boolean;
	messages: EngineMessage[];
	tools?: { type: string; function: { name: string; parameters?: object } }[];
	[field: string]: unknown;
}

export interface Replayed {
	response: Response;
	/** The data of the events, but for `[DONE]`. */
	events: Record<string, unknown>[];
	text: string;
	/** What reached the engine. */
	engine: EngineRequest;
}

export const TEXT = [delta("Hello"), delta(" there"), finish(), usage(), DONE];

/** One call of a tool, its arguments in two pieces. */
export const toolCall = (name: string, input: string): string[] => [
	chunk([{ index: 0, id: "call_9", type: "function", function: { name, arguments: "" } }]),
	chunk([{ index: 0, function: { arguments: input.slice(0, 2) } }]),
	chunk([{ index: 0, function: { arguments: input.slice(2) } }]),
	finish("tool_calls"),
	usage(),
	DONE,
];

const chunk = (tool_calls: object[]): string =>
	`data: ${JSON.stringify({
		id: "chatcmpl-1",
		object: "chat.completion.chunk",
		created: 1,
		model: "engine-model",
		choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }],
	})}\n\n`;

export async function replay({ body, headers, path }: Fixture, frames: string[] = TEXT): Promise<Replayed> {
	const { fetch, requests } = upstream(() => events(...frames));
	const present = Object.entries(headers).filter(
		(header): header is [string, string] => header[1] !== undefined,
	);
	const response = await testGateway({ vars: ENGINE_VARS, fetch }).app.request(BASE + path, {
		method: "POST",
		headers: present,
		body: JSON.stringify(body),
	});
	const text = await response.text();
	const [request] = requests;
	if (!request) throw new Error(`nothing reached the engine: ${response.status} ${text}`);
	const data = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = ""]) => JSON.parse(json));
	return { response, text, events: data, engine: await request.json() };
}

/** The messages as the engine got them: role, call, number of parts, end of the last one, calls. */
export const outline = ({ messages }: EngineRequest): string[] =>
	messages.map(({ content, role, tool_call_id, tool_calls = [] }) => {
		const parts =
			typeof content === "string" ? [content] : (content ?? []).map(({ text, type }) => text ?? type);
		const calls = tool_calls.map(({ function: { arguments: input, name }, id }) => `${id}=${name}(${input})`);
		const count = parts.length > 1 && `(${parts.length})`;
		const text = parts.at(-1)?.replaceAll("\n", " ").slice(-40);
		return [role, tool_call_id, count, text, ...calls].filter((field) => field).join(" ");
	});

export const toolsOf = ({ tools = [] }: EngineRequest): string[] => tools.map((tool) => tool.function.name);
