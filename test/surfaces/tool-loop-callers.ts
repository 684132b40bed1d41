/**
 * Agents of each interface that keep their history as its clients do: the answer goes back as it came, with the tool's result. The tests
 * drive them through many turns.
 */
import * as z from "zod";

const PARAMETERS = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WEATHER = { name: "weather", description: "The weather in a city" };
const CHAT_TOOL = { type: "function", function: { ...WEATHER, parameters: PARAMETERS } };
const QUESTION = "Weather in Paris?";
const RESULT = "18 degrees";

/** An answer: its text, or the tool's call, whose result is already in the history. */
export interface Answered {
	text: string;
	calls: number;
}

export interface LoopCaller {
	/** Below `/ai`. */
	path: string;
	/** The next request. */
	request(): object;
	/** Takes the answer into the history. */
	read(body: string): Answered;
}

export type MakeCaller = (model: string, stream: boolean) => LoopCaller;

const Loose = z.looseObject({});
type Loose = z.output<typeof Loose>;
const list = (value: unknown): Loose[] => (Array.isArray(value) ? z.array(Loose).parse(value) : []);
const record = (value: unknown): Loose => Loose.parse(value ?? {});
const text = (value: unknown): string => (typeof value === "string" ? value : "");

const dataIn = (body: string): Loose[] =>
	Array.from(body.matchAll(/^data: (\{.*)$/gm), ([, json = ""]) => record(JSON.parse(json)));

/** Joins deltas as the clients of chat completions do: calls by their index, texts in their order, other fields as they came. */
function joinedMessage(deltas: readonly Loose[]): Loose {
	const message: Loose = { role: "assistant", content: null };
	const calls: Loose[] = [];
	const blocks: Loose[] = [];
	const details: Loose[] = [];
	for (const { tool_calls, thinking_blocks, reasoning_details, content, role: _, ...fields } of deltas) {
		if (text(content)) message.content = text(message.content) + text(content);
		blocks.push(...list(thinking_blocks));
		details.push(...list(reasoning_details));
		Object.assign(message, fields);
		for (const { index, function: called, ...call } of list(tool_calls)) {
			const known = calls[Number(index)] ?? { function: { name: "", arguments: "" } };
			calls[Number(index)] = known;
			const { name, arguments: json } = record(called);
			const before = record(known.function);
			known.function = {
				name: text(before.name) + text(name),
				arguments: text(before.arguments) + text(json),
			};
			Object.assign(known, call);
		}
	}
	return {
		...message,
		...(calls.length > 0 && { tool_calls: calls }),
		...(blocks.length > 0 && { thinking_blocks: blocks }),
		...(details.length > 0 && { reasoning_details: details }),
	};
}

export const chatCaller =
	(path: string, fields: object = {}): MakeCaller =>
	(model, stream) => {
		const messages: object[] = [{ role: "user", content: QUESTION }];
		return {
			path,
			request: () => ({ model, stream, messages, tools: [CHAT_TOOL], reasoning_effort: "low", ...fields }),
			read(body) {
				const deltas = () => dataIn(body).map(({ choices }) => record(list(choices)[0]?.delta));
				const sent = stream ? undefined : record(JSON.parse(body));
				const whole = record(sent?.result ?? sent);
				const message = sent ? record(list(whole.choices)[0]?.message) : joinedMessage(deltas());
				const calls = list(message.tool_calls);
				messages.push(message);
				for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: RESULT });
				return { text: text(message.content), calls: calls.length };
			},
		};
	};

/** A client that keeps only the standard fields of chat completions, and the calls as they came. */
export const bareChatCaller: MakeCaller = (model, stream) => {
	const { path, request, read } = chatCaller("/v1/chat/completions")(model, stream);
	return {
		path,
		request() {
			const { messages, ...fields } = record(request());
			const kept = list(messages).map(({ thinking_blocks: _, reasoning_content: _r, ...message }) => message);
			return { ...fields, messages: kept };
		},
		read,
	};
};

/** The native route: calls have no ids, and the client makes them. */
export const nativeCaller: MakeCaller = (model, stream) => {
	const messages: object[] = [{ role: "user", content: QUESTION }];
	let ids = 0;
	return {
		path: `/run/${model}`,
		request: () => ({ stream, messages, tools: [CHAT_TOOL] }),
		read(body) {
			const frames = stream ? dataIn(body) : [record(record(JSON.parse(body)).result)];
			const response = frames.map((frame) => text(frame.response)).join("");
			const blocks = frames.flatMap((frame) => list(frame.thinking_blocks));
			const pieces = frames.flatMap((frame) => list(frame.tool_calls));
			const name = pieces.map((call) => text(call.name) || text(record(call.function).name)).join("");
			const calls = name
				? [{ id: `weather00${ids++}`, type: "function", function: { name, arguments: '{"city":"Paris"}' } }]
				: [];
			messages.push({
				role: "assistant",
				content: response,
				...(calls.length > 0 && { tool_calls: calls }),
				...(blocks.length > 0 && { thinking_blocks: blocks }),
			});
			for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: RESULT });
			return { text: response, calls: calls.length };
		},
	};
};

function joinedBlocks(events: readonly Loose[]): Loose[] {
	const blocks: Loose[] = [];
	for (const { type, index, content_block, delta } of events) {
		if (type === "content_block_start") blocks[Number(index)] = record(content_block);
		const block = blocks[Number(index)];
		if (type !== "content_block_delta" || !block) continue;
		const { type: _, partial_json, ...fields } = record(delta);
		if (partial_json !== undefined) block.json = text(block.json) + text(partial_json);
		for (const [name, piece] of Object.entries(fields)) block[name] = text(block[name]) + text(piece);
	}
	return blocks.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(text(json)) } : block));
}

export const messagesCaller: MakeCaller = (model, stream) => {
	const messages: object[] = [{ role: "user", content: QUESTION }];
	const tools = [{ ...WEATHER, input_schema: PARAMETERS }];
	return {
		path: "/v1/messages",
		request: () => ({ model, stream, messages, tools, max_tokens: 4096, thinking: { type: "adaptive" } }),
		read(body) {
			const content = stream ? joinedBlocks(dataIn(body)) : list(record(JSON.parse(body)).content);
			const uses = content.filter(({ type }) => type === "tool_use");
			messages.push({ role: "assistant", content });
			if (uses.length > 0)
				messages.push({
					role: "user",
					content: uses.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: RESULT })),
				});
			return { text: content.map((block) => text(block.text)).join(""), calls: uses.length };
		},
	};
};

export const responsesCaller: MakeCaller = (model, stream) => {
	const input: object[] = [{ role: "user", content: QUESTION }];
	const tools = [{ type: "function", ...WEATHER, parameters: PARAMETERS, strict: false }];
	const include = ["reasoning.encrypted_content"];
	return {
		path: "/v1/responses",
		request: () => ({ model, stream, input, tools, include, store: false, reasoning: { effort: "low" } }),
		read(body) {
			const response = stream ? record(dataIn(body).at(-1)?.response) : record(JSON.parse(body));
			const output = list(response.output);
			const calls = output.filter(({ type }) => type === "function_call");
			input.push(...output);
			for (const { call_id } of calls) input.push({ type: "function_call_output", call_id, output: RESULT });
			const parts = output.flatMap(({ type, content }) => (type === "message" ? list(content) : []));
			return { text: parts.map((part) => text(part.text)).join(""), calls: calls.length };
		},
	};
};

export const geminiCaller: MakeCaller = (model, stream) => {
	const contents: object[] = [{ role: "user", parts: [{ text: QUESTION }] }];
	const tools = [{ functionDeclarations: [{ ...WEATHER, parametersJsonSchema: PARAMETERS }] }];
	const generationConfig = { thinkingConfig: { thinkingLevel: "low" } };
	return {
		path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		request: () => ({ contents, tools, generationConfig }),
		read(body) {
			const replies = stream ? dataIn(body) : [record(JSON.parse(body))];
			const parts = replies.flatMap(({ candidates }) =>
				list(record(list(candidates)[0]?.content ?? { parts: [] }).parts),
			);
			const calls = parts.flatMap(({ functionCall }) => (functionCall ? [record(functionCall)] : []));
			contents.push({ role: "model", parts });
			if (calls.length > 0)
				contents.push({
					role: "user",
					parts: calls.map(({ id, name }) => ({
						functionResponse: { id, name, response: { output: RESULT } },
					})),
				});
			return { text: parts.map((part) => text(part.text)).join(""), calls: calls.length };
		},
	};
};
