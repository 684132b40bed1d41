/**
 * The text and the calls of tools in an answer, in the formats of OpenAI (chats, completions, Responses), Anthropic, Gemini and Workers AI, as
 * JSON or as the events of a stream. An answer in another format is its text.
 */
import { createParser } from "eventsource-parser";
import { codeBlockIn } from "../../core/code-block.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { isDone } from "../../streams/sse.ts";

export interface LoggedAnswer {
	text: string;
	/** `input`: JSON. */
	calls: readonly { name: string; input: string }[];
}

/** Longer texts, and longer inputs of all calls together, are not compared as JSON. */
const MAX_STRUCTURE_CHARACTERS = 256 * 1024;
const EVENTS = /^(?:event|data|id|retry|:)[^\n{[]*/;

/** `body`: the text of a response. */
export function answerIn(body: string): LoggedAnswer {
	const value = parseJson(body);
	if (value === undefined && !EVENTS.test(body.trimStart())) return { text: body, calls: [] };
	const collected = new CollectedAnswer();
	if (value === undefined) readEvents(body, collected);
	else collected.add(value);
	return collected.answer;
}

/** The JSON value of an answer: that of its text, or its calls of tools. `undefined`: it has none. */
export function structureOf({ text, calls }: LoggedAnswer): unknown {
	const characters = calls.reduce((sum, { input }) => sum + input.length, text.length);
	if (characters > MAX_STRUCTURE_CHARACTERS) return undefined;
	if (calls.length > 0)
		return {
			tool_calls: calls.map(({ name, input }) => ({ name, arguments: parseJson(input) ?? input })),
			...(text.trim() !== "" && { text: jsonIn(text) ?? text }),
		};
	return jsonIn(text);
}

/** Numbers and texts alone have no structure. */
function jsonIn(text: string): unknown {
	const value = parseJson(codeBlockIn(text) ?? text);
	return typeof value === "object" && value !== null ? value : undefined;
}

function readEvents(body: string, collected: CollectedAnswer): void {
	const parser = createParser({
		onEvent({ data }) {
			if (!isDone(data)) collected.add(parseJson(data));
		},
	});
	parser.feed(`${body}\n\n`);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const jsonOf = (value: unknown): string =>
	typeof value === "string" ? value : (JSON.stringify(value) ?? "");

class CollectedAnswer {
	#text = "";
	readonly #calls = new Map<string, { name: string; input: string }>();

	get answer(): LoggedAnswer {
		return { text: this.#text, calls: [...this.#calls.values()].filter(({ name }) => name !== "") };
	}

	/** An answer, or an event of one. */
	add(value: unknown): void {
		if (!isRecord(value)) return;
		const { choices, response, content, output, candidates, result, type } = value;
		// An envelope of the v4 API.
		if (isRecord(result) && "success" in value) this.add(result);
		else if (Array.isArray(choices)) this.#addChoice(choices[0]);
		else if (Array.isArray(candidates)) this.#addParts(candidates[0]);
		else if (Array.isArray(output)) for (const item of output) this.#addItem(item);
		else if (typeof type === "string") this.#addEvent(type, value);
		else if (response !== undefined || Array.isArray(value.tool_calls)) {
			this.#text += typeof response === "string" ? response : isRecord(response) ? jsonOf(response) : "";
			this.#addCalls(value.tool_calls);
		} else if (Array.isArray(content)) for (const block of content) this.#addBlock(block);
	}

	/** Of a chat, a chunk of one, or a completion. */
	#addChoice(choice: unknown): void {
		if (!isRecord(choice)) return;
		const message = isRecord(choice.message) ? choice.message : choice.delta;
		if (!isRecord(message)) {
			this.#text += textOf(choice.text);
			return;
		}
		const { content } = message;
		this.#text += textOf(content);
		for (const part of listOf(content)) if (isRecord(part)) this.#text += textOf(part.text);
		this.#addCalls(message.tool_calls);
	}

	/** In a stream the parts of a call have the same index. */
	#addCalls(calls: unknown): void {
		for (const [place, call] of listOf(calls).entries()) {
			if (!isRecord(call)) continue;
			const named = isRecord(call.function) ? call.function : call;
			this.#addCall(`${call.index ?? place}`, textOf(named.name), jsonOf(named.arguments));
		}
	}

	#addCall(key: string, name: string, input: string): void {
		const before = this.#calls.get(key) ?? { name: "", input: "" };
		this.#calls.set(key, { name: before.name + name, input: before.input + input });
	}

	/** Of Gemini. */
	#addParts(candidate: unknown): void {
		const content = isRecord(candidate) && isRecord(candidate.content) ? candidate.content : {};
		for (const part of listOf(content.parts)) {
			if (!isRecord(part)) continue;
			if (part.thought !== true) this.#text += textOf(part.text);
			const { functionCall: call } = part;
			if (isRecord(call)) this.#addCall(`${this.#calls.size}`, textOf(call.name), jsonOf(call.args));
		}
	}

	/** Of Responses. */
	#addItem(item: unknown): void {
		if (!isRecord(item)) return;
		if (item.type === "function_call")
			this.#addCall(`${this.#calls.size}`, textOf(item.name), jsonOf(item.arguments));
		if (item.type !== "message") return;
		for (const part of listOf(item.content)) if (isRecord(part)) this.#text += textOf(part.text);
	}

	/** A message of Anthropic, or an event of its streams or of those of Responses. */
	#addEvent(type: string, value: Record<string, unknown>): void {
		const { index, delta, content_block: block } = value;
		if (type === "message") for (const part of listOf(value.content)) this.#addBlock(part);
		else if (type === "content_block_start") this.#addBlock(block, `${index}`);
		else if (type === "content_block_delta" && isRecord(delta)) {
			this.#text += textOf(delta.text);
			if (typeof delta.partial_json === "string") this.#addCall(`${index}`, "", delta.partial_json);
		} else if (/^response\.(?:completed|incomplete|failed)$/.test(type)) {
			// It has the whole answer.
			this.#text = "";
			this.#calls.clear();
			this.add(value.response);
		} else if (type === "response.output_text.delta") this.#text += textOf(delta);
	}

	/** Of Anthropic. In a stream the input follows. */
	#addBlock(block: unknown, key = `${this.#calls.size}`): void {
		if (!isRecord(block)) return;
		if (block.type === "text") this.#text += textOf(block.text);
		if (block.type !== "tool_use") return;
		const input = isRecord(block.input) && Object.keys(block.input).length === 0 ? "" : jsonOf(block.input);
		this.#addCall(key, textOf(block.name), input);
	}
}
