/**
 * A chat-only engine whose model searches once and then answers with the first page that it has received, and a gateway in front of it
 * with SearXNG as its search provider.
 */
import { completion, DONE, delta, ENGINE_VARS, events, finish, testGateway, usage } from "../../gateway.ts";
import { SEARCH_VARS, searchHosts } from "../search-hosts.ts";

export interface EngineRequest {
	messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
	tools?: { type: string; function: { name: string } }[];
	tool_choice?: unknown;
	stream?: boolean;
	max_tokens?: number;
}

/** A call of a function, or text. */
export type EngineTurn = { calls: { name: string; arguments: string }[]; text?: string } | { text: string };

const chunk = (fields: object): string =>
	`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "qwen3", choices: [{ index: 0, finish_reason: null, ...fields }] })}\n\n`;

function streamOf(turn: EngineTurn): Response {
	const text = turn.text === undefined ? [] : [delta(turn.text)];
	if (!("calls" in turn)) return events(...text, finish(), usage(), DONE);
	const calls = turn.calls.flatMap(({ name, arguments: args }, index) => [
		chunk({
			delta: {
				tool_calls: [{ index, id: `call-${index}`, type: "function", function: { name, arguments: "" } }],
			},
		}),
		chunk({ delta: { tool_calls: [{ index, function: { arguments: args.slice(0, 4) } }] } }),
		chunk({ delta: { tool_calls: [{ index, function: { arguments: args.slice(4) } }] } }),
	]);
	return events(...text, ...calls, finish("tool_calls"), usage(), DONE);
}

function wholeOf(turn: EngineTurn): Response {
	const whole = completion(turn.text ?? "") as { choices: Record<string, unknown>[] };
	if (!("calls" in turn)) return Response.json(whole);
	const tool_calls = turn.calls.map((called, index) => ({
		id: `call-${index}`,
		type: "function",
		function: called,
	}));
	const message = { role: "assistant", content: turn.text ?? null, tool_calls };
	return Response.json({ ...whole, choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
}

export const SEARCH_CALL = { name: "web_search", arguments: '{"query":"storage of Durable Objects"}' };
export const ANSWER = "They have storage ([SearXNG page](https://example.com/s)). Ünlü.";

/** Searches once, then answers. */
export const searchesOnce = ({ messages }: EngineRequest): EngineTurn =>
	messages.some(({ role }) => role === "tool") ? { text: ANSWER } : { calls: [SEARCH_CALL] };

export function searchingGateway(
	turn: (request: EngineRequest, round: number) => EngineTurn = searchesOnce,
	vars: Record<string, unknown> = {},
) {
	const requests: EngineRequest[] = [];
	const engine: typeof fetch = async (input, init) => {
		const request = new Request(input, init);
		const body = await request.json<EngineRequest>();
		requests.push(body);
		const answered = turn(body, requests.length);
		return body.stream ? streamOf(answered) : wholeOf(answered);
	};
	const hosts = searchHosts(engine);
	const own = { ...SEARCH_VARS, WEB_SEARCH: { "in-house": { kind: "searxng", url: "http://searx.lan" } } };
	const gateway = testGateway({ vars: { ...own, ...ENGINE_VARS, ...vars }, fetch: hosts.fetch });
	return { ...gateway, requests, searches: hosts.requests };
}

/** The data of an event stream's events. */
export const dataOf = <Event>(text: string): Event[] =>
	[...text.matchAll(/^data: (.*)$/gm)].flatMap(([, data = ""]) =>
		data === "[DONE]" ? [] : [JSON.parse(data) as Event],
	);
