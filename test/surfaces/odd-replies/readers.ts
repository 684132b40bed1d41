/** How a client of each interface reads an answer. */
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { BASE, CALLER, type TestOptions, testGateway } from "../../gateway.ts";
import type { ExpectedAnswer } from "./expected-answer.ts";
import { finishOfMessage, NAMES, PARAMETERS, PROMPT } from "./question.ts";

export type Surface =
	| "chat"
	| "Messages"
	| "Responses"
	| "Gemini"
	| "run"
	| "binding"
	| "compat"
	| "universal";

interface SurfaceReader {
	request(model: string, stream: boolean): { path: string; body: object };
	read(text: string, isStream: boolean): Partial<ExpectedAnswer>;
	/** Fields that the interface does not show. */
	omits?: readonly (keyof ExpectedAnswer)[];
}

const MESSAGES = [{ role: "user", content: PROMPT }];
const TOOLS = NAMES.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } }));

/** Parsed JSON of any form. */
type Json = Parameters<typeof JSON.stringify>[0];

const parse = (text: string): Json => JSON.parse(text);

const eventsIn = (text: string): Json[] =>
	text
		.split("\n\n")
		.map((event) => /^data: (.*)$/m.exec(event)?.[1])
		.filter((data) => data !== undefined && data !== "[DONE]")
		.map((data) => parse(data as string));

const callsOf = (calls: readonly { name: string; arguments: string }[]): ExpectedAnswer["calls"] =>
	calls.map(({ name, arguments: text }) => [name, parse(text)]);

const chat: SurfaceReader = {
	request: (model, stream) => ({
		path: "/v1/chat/completions",
		body: { model, messages: MESSAGES, tools: TOOLS, stream },
	}),
	read(text, isStream) {
		if (!isStream) {
			const [{ message, finish_reason }] = parse(text).choices;
			return {
				text: message.content ?? "",
				reasoning: message.reasoning_content ?? message.reasoning ?? "",
				calls: callsOf((message.tool_calls ?? []).map((called: Json) => called.function)),
				finish: finish_reason,
			};
		}
		const answer = { text: "", reasoning: "", finish: "" };
		const calls: { id: string; name: string; arguments: string }[] = [];
		for (const { choices } of eventsIn(text)) {
			const [choice] = choices;
			if (!choice) continue;
			const { content, reasoning_content, reasoning, tool_calls } = choice.delta;
			answer.text += content ?? "";
			answer.reasoning += reasoning_content ?? reasoning ?? "";
			answer.finish = choice.finish_reason ?? answer.finish;
			// As OpenAI's clients do: by the index, ids and names appended.
			for (const piece of tool_calls ?? []) {
				const known = calls[piece.index] ?? { id: "", name: "", arguments: "" };
				calls[piece.index] = known;
				known.id += piece.id ?? "";
				known.name += piece.function?.name ?? "";
				known.arguments += piece.function?.arguments ?? "";
			}
		}
		if (calls.some(({ id }) => !id) || new Set(calls.map(({ id }) => id)).size < calls.length)
			throw new Error(`calls without ids of their own: ${text}`);
		return { ...answer, calls: callsOf(calls) };
	},
};

const messages: SurfaceReader = {
	request: (model, stream) => ({
		path: "/v1/messages",
		body: {
			model,
			max_tokens: 2_000,
			messages: MESSAGES,
			tools: NAMES.map((name) => ({ name, input_schema: PARAMETERS })),
			thinking: { type: "enabled", budget_tokens: 1_024 },
			stream,
		},
	}),
	read(text, isStream) {
		const blocks: Json[] = [];
		let stopReason = "";
		if (!isStream) {
			const message = parse(text);
			blocks.push(...message.content);
			stopReason = message.stop_reason;
		} else
			for (const event of eventsIn(text)) {
				if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block, json: "" };
				if (event.type === "message_delta") stopReason = event.delta.stop_reason;
				if (event.type !== "content_block_delta") continue;
				const block = blocks[event.index] as Json;
				const { type, text: added, thinking, partial_json } = event.delta;
				if (type === "text_delta") block.text += added;
				if (type === "thinking_delta") block.thinking += thinking;
				if (type === "input_json_delta") block.json += partial_json;
			}
		const joined = (type: string, field: string) =>
			blocks.map((block) => (block.type === type ? block[field] : "")).join("");
		return {
			text: joined("text", "text"),
			reasoning: joined("thinking", "thinking"),
			calls: blocks
				.filter(({ type }) => type === "tool_use")
				.map(({ name, input, json }) => [name, json ? parse(json) : input]),
			finish: finishOfMessage(stopReason),
		};
	},
};

const responses: SurfaceReader = {
	request: (model, stream) => ({
		path: "/v1/responses",
		body: {
			model,
			input: MESSAGES,
			tools: NAMES.map((name) => ({ type: "function", name, parameters: PARAMETERS })),
			stream,
		},
	}),
	read(text, isStream) {
		const response = isStream
			? eventsIn(text).find(({ type }) => type === "response.completed" || type === "response.incomplete")
					?.response
			: parse(text);
		const items: Json[] = response.output;
		const textsOf = (type: string, field: string): string =>
			items
				.filter((item) => item.type === type)
				.flatMap((item) => item[field] ?? [])
				.map((part: Json) => part.text)
				.join("");
		const calls = items.filter(({ type }) => type === "function_call");
		const reason = response.incomplete_details?.reason;
		return {
			text: textsOf("message", "content"),
			reasoning: textsOf("reasoning", "content") || textsOf("reasoning", "summary"),
			calls: callsOf(calls as never),
			finish:
				reason === "max_output_tokens" ? "length" : (reason ?? (calls.length > 0 ? "tool_calls" : "stop")),
		};
	},
};

const gemini: SurfaceReader = {
	request: (model, stream) => ({
		path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		body: {
			contents: [{ role: "user", parts: [{ text: PROMPT }] }],
			tools: [{ functionDeclarations: NAMES.map((name) => ({ name, parameters: PARAMETERS })) }],
			generationConfig: { thinkingConfig: { includeThoughts: true } },
		},
	}),
	read(text, isStream) {
		const replies = isStream ? eventsIn(text) : [parse(text)];
		const candidates = replies.flatMap(({ candidates = [] }) => candidates as Json[]);
		const parts = candidates.flatMap(({ content }) => (content?.parts ?? []) as Json[]);
		const calls = parts.filter(({ functionCall }) => functionCall);
		const reason = candidates.findLast(({ finishReason }) => finishReason)?.finishReason;
		return {
			text: parts.map(({ text: part = "", thought }) => (thought ? "" : part)).join(""),
			reasoning: parts.map(({ text: part = "", thought }) => (thought ? part : "")).join(""),
			calls: calls.map(({ functionCall }) => [functionCall.name, functionCall.args]),
			finish:
				reason === "MAX_TOKENS"
					? "length"
					: reason === "SAFETY"
						? "content_filter"
						: calls.length > 0
							? "tool_calls"
							: "stop",
		};
	},
};

const run: SurfaceReader = {
	request: (model, stream) => ({
		path: `/run/${model}`,
		body: { messages: MESSAGES, tools: TOOLS, stream },
	}),
	omits: ["finish", "reasoning"],
	read(text, isStream) {
		if (!isStream) {
			const parsed = parse(text);
			const { response, tool_calls, choices } = parsed.result ?? parsed;
			if (choices) return withoutFinish(chat.read(JSON.stringify({ choices }), false));
			return {
				text: afterThoughts(response ?? ""),
				calls: (tool_calls ?? []).map((called: Json) =>
					called.function
						? [called.function.name, parse(called.function.arguments)]
						: [called.name, called.arguments],
				),
			};
		}
		const calls: { name: string; arguments: string }[] = [];
		let answer = "";
		for (const { response, tool_calls, choices } of eventsIn(text)) {
			if (choices) return withoutFinish(chat.read(text, true));
			answer += response ?? "";
			for (const piece of tool_calls ?? []) {
				if (piece.id)
					calls[piece.index] = { name: piece.function.name, arguments: piece.function.arguments ?? "" };
				else if (piece.function.arguments) (calls[piece.index] as Json).arguments += piece.function.arguments;
			}
		}
		return { text: afterThoughts(answer), calls: callsOf(calls) };
	},
};

const withoutFinish = ({ text = "", calls = [] }: Partial<ExpectedAnswer>): Partial<ExpectedAnswer> => ({
	text,
	calls,
});

/** The native format has the reasoning in the text. */
const afterThoughts = (text: string): string => text.replace(/^<think>[\s\S]*?(?:<\/think>\s*|$)/, "");

export const READERS: Readonly<Record<Surface, SurfaceReader>> = {
	chat,
	Messages: messages,
	Responses: responses,
	Gemini: gemini,
	run,
	binding: run,
	compat: {
		...chat,
		request: (model, stream) => ({ path: "compat/chat/completions", body: compatBody(model, stream) }),
	},
	universal: {
		...chat,
		request: (model, stream) => ({
			path: "",
			body: [{ provider: "compat", endpoint: "chat/completions", query: compatBody(model, stream) }],
		}),
	},
};

const compatBody = (model: string, stream: boolean) => chat.request(`workers-ai/${model}`, stream).body;

export const SURFACES = Object.keys(READERS) as Surface[];

/** Each interface, for a value and for a stream. */
export const CALLS = SURFACES.flatMap((surface) => [false, true].map((stream) => ({ surface, stream })));

type Send = (surface: Surface, model: string, stream: boolean) => Promise<Response>;

/** The server of one gateway. `send` calls a model in the way of an interface. */
export function callersOf(options: TestOptions): { send: Send } {
	const { app, services } = testGateway(options);
	const binding = wireOf(services);
	return {
		async send(surface, model, stream) {
			const { path, body } = READERS[surface].request(model, stream);
			if (surface !== "binding") {
				const base = surface === "compat" || surface === "universal" ? "http://gateway/v1/local/main/" : BASE;
				return app.request(`${base}${path}`, {
					method: "POST",
					headers: { "content-type": "application/json" },
					body: JSON.stringify(body),
				});
			}
			const headers = {
				"content-type": "application/json",
				"cf-consn-sdk-version": "2.0.0",
				"cf-consn-model-id": model,
			};
			const sent = { method: "POST", headers, body: JSON.stringify({ inputs: body, options: {} }) };
			return binding.fetch(new Request("https://workers-binding.ai/run?version=3", sent), { caller: CALLER });
		},
	};
}

/** What a client of each interface reads, for a value and for a stream. */
export async function readAnswers(send: Send, model: string): Promise<Record<string, unknown>> {
	const answers = CALLS.map(
		async ({ surface, stream }) =>
			[
				`${surface} ${stream}`,
				await readAnswer(surface, stream, await send(surface, model, stream)),
			] as const,
	);
	return Object.fromEntries(await Promise.all(answers));
}

/** What they have to read: the part of the answer that each interface shows. */
export const expectedAnswers = (answer: Partial<ExpectedAnswer>): Record<string, unknown> =>
	Object.fromEntries(
		CALLS.map(({ surface, stream }) => [`${surface} ${stream}`, shownBy(surface, answer)] as const),
	);

async function readAnswer(surface: Surface, stream: boolean, response: Response): Promise<unknown> {
	const text = await response.text();
	if (!response.ok) return { status: response.status, text };
	try {
		return READERS[surface].read(text, stream);
	} catch (error) {
		return { error: String(error), text };
	}
}

function shownBy(surface: Surface, answer: Partial<ExpectedAnswer>): Partial<ExpectedAnswer> {
	const shown = { ...answer };
	for (const field of READERS[surface].omits ?? []) delete shown[field];
	return shown;
}
