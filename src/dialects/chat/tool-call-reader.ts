/**
 * Tool calls and their results in a conversation. Strict engines require each result to name a call of the preceding
 * assistant message. The product's callers often send no ids, so ids are generated and results are matched,
 * deterministically.
 */
import * as z from "zod";
import { isRecord, parseJson } from "../../core/json.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { ToolCall } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../invalid-input.ts";
import { functionOfCall } from "./custom-tools.ts";

/** Digits after `call`. Mistral's templates accept only ids of nine letters and digits. */
const ID_DIGITS = 5;

const CalledFunction = z.object({
	name: z.string().min(1),
	arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
});

/** Gemini's signature, which the caller returns with the call. */
const Signed = z.object({ google: z.object({ thought_signature: z.string().min(1) }) });

interface ParsedCall extends Pick<ToolCall, "extra_content"> {
	id: string | undefined;
	name: string;
	/** JSON text. */
	arguments: string;
}

/** Flat (`{name, arguments}`) or OpenAI's (`{id, type, function}`, or `custom`), arguments as an object or as JSON text. */
function parseCall(sent: unknown): ParsedCall | undefined {
	const value = functionOfCall(sent);
	if (!isRecord(value) || (value.type ?? "function") !== "function") return undefined;
	const parsed = safeParse(CalledFunction, value.function ?? value);
	if (!parsed.success) return undefined;
	const { name, arguments: args } = parsed.data;
	const signed = safeParse(Signed, value.extra_content).data;
	return {
		id: typeof value.id === "string" && value.id !== "" ? value.id : undefined,
		name,
		arguments: typeof args === "string" ? args || "{}" : JSON.stringify(args ?? {}),
		...(signed && { extra_content: signed }),
	};
}

/**
 * A call, or an array of calls, as the text of a message. `@cloudflare/ai-utils` writes calls before their results in this
 * way. `undefined` for any other text.
 */
function callsInText(text: string): unknown[] | undefined {
	if (!/^\s*[[{]/.test(text)) return undefined;
	const value = parseJson(text);
	const calls = Array.isArray(value) ? value : [value];
	const areCalls = calls.every(
		(call) =>
			isRecord(call) && (call.function !== undefined || call.arguments !== undefined) && parseCall(call),
	);
	return calls.length > 0 && areCalls ? calls : undefined;
}

export interface ToolCallReader {
	/** Reads the calls of an assistant's message. `at` names them in the error message. Throws 8001. */
	read(sent: readonly unknown[], at: string): ToolCall[];
	/** Reads the calls that an assistant's text contains. `undefined` for any other text. */
	readText(text: string): ToolCall[] | undefined;
	/** The id of the call that a result belongs to. */
	idOfResult(result: { id?: string | null | undefined; name?: string | null | undefined }): string;
}

/** For one conversation. Its messages must be read in order. */
export function toolCallReader(): ToolCallReader {
	const ids = new Set<string>();
	/** Calls of the last assistant message that have no result yet, with the ids that the caller sent. */
	let pending: { call: ToolCall; sentId: string | undefined }[] = [];
	let generated = 0;

	const newId = (): string => {
		let id: string;
		do id = `call${String(generated++).padStart(ID_DIGITS, "0")}`;
		while (ids.has(id));
		return id;
	};
	const register = (calls: ParsedCall[]): ToolCall[] => {
		pending = calls.map(({ id: sentId, name, arguments: text, ...signed }) => {
			// Engines may repeat the ids of earlier calls. Anthropic refuses equal ids.
			const id = sentId === undefined || ids.has(sentId) ? newId() : sentId;
			ids.add(id);
			return { sentId, call: { id, type: "function", function: { name, arguments: text }, ...signed } };
		});
		return pending.map(({ call }) => call);
	};
	const read = (sent: readonly unknown[], at: string): ToolCall[] =>
		register(
			sent.map((value, index) => {
				const call = parseCall(value);
				if (!call) throw invalidInput(`${at}[${index}] must be a function call with a name and arguments`);
				return call;
			}),
		);

	return {
		read,
		readText(text) {
			const calls = callsInText(text);
			return calls && read(calls, "content");
		},
		idOfResult({ id, name }) {
			const exact = pending.find(({ sentId }) => sentId !== undefined && sentId === id);
			// The id of an earlier message's call is kept. An id without a call is a placeholder ("000000001" is common).
			if (!exact && id && ids.has(id)) return id;
			const answered = exact ?? pending.find(({ call }) => call.function.name === name) ?? pending[0];
			pending = pending.filter((candidate) => candidate !== answered);
			return answered?.call.id ?? (id || newId());
		},
	};
}
