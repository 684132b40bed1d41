/**
 * The request of a log as a request for another model. It has no stream, is not stored, and runs no tool: one that names a tool of its engine or
 * of a server is not sent again, because the tool would act a second time.
 */
import { isRecord, parseRecord } from "../../core/json.ts";

export type SentAgain =
	| {
			ok: true;
			/** The path of the route that answers it, such as `/chat/completions`; or `gemini`. */
			endpoint: "/chat/completions" | "/completions" | "/responses" | "/messages" | "gemini";
			/** Without the model. */
			fields: Record<string, unknown>;
			/** The conversation, for a judge. */
			question: unknown;
	  }
	| { ok: false; reason: string };

/** How an answer is delivered and stored. */
const DELIVERY = ["model", "stream", "stream_options", "store", "background", "metadata"];
/** The answer depends on what the engine or this gateway has stored. */
const STORED = ["previous_response_id", "conversation"];
/** They run tools, beside `tools`. */
const ACTING = ["web_search_options", "mcp_servers", "container", "plugins", "functions_server"];
/** The inputs of Workers AI that a chat has, too. */
const CHAT_FIELDS = [
	...["max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "stop"],
	...["frequency_penalty", "presence_penalty", "repetition_penalty", "tool_choice", "reasoning_effort"],
];

/** `path`: of the log. `text`: its request. */
export function sentAgain(path: string, text: string): SentAgain {
	const fields = parseRecord(text);
	if (!fields) return { ok: false, reason: "the request is not JSON" };
	const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !DELIVERY.includes(name)));
	const named = STORED.find((name) => fields[name] != null);
	if (named) return { ok: false, reason: `the request continues a stored conversation (${named})` };
	if (hasActingTools(fields))
		return { ok: false, reason: "the request has a tool that an engine or a server runs" };
	const address = path.split("?")[0] ?? "";
	if (/:(?:stream)?generateContent$/i.test(address))
		return { ok: true, endpoint: "gemini", fields: kept, question: fields.contents };
	const { messages, prompt, input } = fields;
	if (/(?:^|\/)chat\/completions$/.test(address) && Array.isArray(messages))
		return { ok: true, endpoint: "/chat/completions", fields: kept, question: messages };
	if (/(?:^|\/)messages$/.test(address) && Array.isArray(messages))
		return { ok: true, endpoint: "/messages", fields: kept, question: [fields.system ?? "", ...messages] };
	if (/(?:^|\/)responses$/.test(address) && input !== undefined)
		return { ok: true, endpoint: "/responses", fields: { ...kept, store: false }, question: input };
	if (/(?:^|\/)completions$/.test(address) && typeof prompt === "string")
		return { ok: true, endpoint: "/completions", fields: kept, question: prompt };
	if (/^(?:v1\/)?run\/|^@/.test(address)) return chatOf(fields);
	return { ok: false, reason: "the request is not one for a text" };
}

/** The inputs of a run as a chat. */
function chatOf(fields: Record<string, unknown>): SentAgain {
	const { messages, prompt, system, tools, response_format: format } = fields;
	const sent = Array.isArray(messages)
		? messages
		: typeof prompt === "string"
			? [{ role: "user", content: prompt }]
			: undefined;
	if (!sent) return { ok: false, reason: "the request is not one for a text" };
	const all = typeof system === "string" ? [{ role: "system", content: system }, ...sent] : sent;
	return {
		ok: true,
		endpoint: "/chat/completions",
		fields: {
			...Object.fromEntries(
				CHAT_FIELDS.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])),
			),
			messages: all,
			...(Array.isArray(tools) && tools.length > 0 && { tools: tools.map(chatTool) }),
			...(isRecord(format) && { response_format: chatFormat(format) }),
		},
		question: all,
	};
}

const chatTool = (tool: unknown): unknown =>
	isRecord(tool) && tool.function === undefined ? { type: "function", function: tool } : tool;

const chatFormat = (format: Record<string, unknown>): Record<string, unknown> =>
	isRecord(format.json_schema) && format.json_schema.schema === undefined
		? { ...format, json_schema: { name: "answer", schema: format.json_schema } }
		: format;

function hasActingTools(fields: Record<string, unknown>): boolean {
	const { tools } = fields;
	if (ACTING.some((name) => fields[name] != null)) return true;
	return Array.isArray(tools) && !tools.every(isFunction);
}

/** A tool that only its caller runs. In all formats such a tool has a name, or a list of declarations, and nothing that an engine runs. */
function isFunction(tool: unknown): boolean {
	if (!isRecord(tool)) return false;
	const { type } = tool;
	if (type === undefined) {
		if (Array.isArray(tool.functionDeclarations) || Array.isArray(tool.function_declarations))
			return Object.keys(tool).length === 1;
		return typeof tool.name === "string" || isRecord(tool.function);
	}
	return type === "function" || type === "custom";
}
