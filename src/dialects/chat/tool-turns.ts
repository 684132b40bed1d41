/**
 * Calls of tools and their results within a conversation. Strict engines want each result to name a call of the turn
 * before it; the product's callers often have no ids at all, so ids are made and results matched, always alike.
 */
import * as z from "zod";
import { isRecord, parseJson } from "../../core/json.ts";
import type { ToolCall } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "./errors.ts";

/** Digits after `call`: nine letters and digits together, the one form that Mistral's templates take. */
const ID_DIGITS = 5;

const CalledFunction = z.object({
	name: z.string().min(1),
	arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
});

/** A signature that whoever gives the call back gives with it. */
const Signed = z.object({ google: z.object({ thought_signature: z.string().min(1) }) });

interface UnnamedCall extends Pick<ToolCall, "extra_content"> {
	id: string | undefined;
	name: string;
	/** JSON text. */
	arguments: string;
}

/** Flat (`{name, arguments}`) or OpenAI's (`{id, type, function}`), arguments as an object or as JSON text. */
function parseCall(value: unknown): UnnamedCall | undefined {
	if (!isRecord(value) || (value.type ?? "function") !== "function") return undefined;
	const parsed = CalledFunction.safeParse(value.function ?? value);
	if (!parsed.success) return undefined;
	const { name, arguments: sent } = parsed.data;
	const signed = Signed.safeParse(value.extra_content).data;
	return {
		id: typeof value.id === "string" && value.id !== "" ? value.id : undefined,
		name,
		arguments: typeof sent === "string" ? sent || "{}" : JSON.stringify(sent ?? {}),
		...(signed && { extra_content: signed }),
	};
}

/**
 * A call, or an array of calls, as the text of a message: how `@cloudflare/ai-utils` puts the call in front of its
 * result. `undefined` for any other text.
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

export interface ToolTurns {
	/** The calls of an assistant's turn. `at` names them in a refusal. Throws 8001. */
	calls(sent: readonly unknown[], at: string): ToolCall[];
	/** The calls that an assistant's text stands for, or `undefined`. */
	callsIn(text: string): ToolCall[] | undefined;
	/** The id of the call that a result answers. */
	answered(result: { id?: string | null | undefined; name?: string | null | undefined }): string;
}

/** For one conversation, told its messages in order. */
export function toolTurns(): ToolTurns {
	const known = new Set<string>();
	/** Calls of the latest turn that have no result yet. */
	let open: ToolCall[] = [];
	let made = 0;

	const newId = (): string => {
		let id: string;
		do id = `call${String(made++).padStart(ID_DIGITS, "0")}`;
		while (known.has(id));
		return id;
	};
	const begin = (calls: UnnamedCall[]): ToolCall[] => {
		const turn = calls.map(({ id = newId(), name, arguments: text, ...signed }): ToolCall => {
			known.add(id);
			return { id, type: "function", function: { name, arguments: text }, ...signed };
		});
		open = [...turn];
		return turn;
	};
	const read = (sent: readonly unknown[], at: string): ToolCall[] =>
		begin(
			sent.map((value, place) => {
				const call = parseCall(value);
				if (!call) throw invalidInput(`${at}[${place}] must be a function call with a name and arguments`);
				return call;
			}),
		);

	return {
		calls: read,
		callsIn(text) {
			const calls = callsInText(text);
			return calls && read(calls, "content");
		},
		answered({ id, name }) {
			const exact = open.find((call) => call.id === id);
			// An id of an earlier turn is the caller's word; one that nobody made is a filler ("000000001" is common).
			if (!exact && id && known.has(id)) return id;
			const call = exact ?? open.find((candidate) => candidate.function.name === name) ?? open[0];
			open = open.filter((candidate) => candidate !== call);
			return call?.id ?? (id || newId());
		},
	};
}
