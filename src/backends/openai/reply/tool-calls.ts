/**
 * Rebuilds the tool calls of a stream from their pieces. A call is identified by its id, then by its index; a piece without both
 * belongs to the last call. What is written has OpenAI's form: indexes from 0, id and name once, in the first piece, and
 * arguments that are JSON text.
 *
 * Observed: the index 0 for all calls, no index, or gaps between indexes; id and name in each piece, another id in each piece, or no
 * id; a name in several pieces; arguments as an object, `null`, none, or all of them once more in the last piece; `{}` before the
 * pieces of the arguments (proxies of Anthropic's API); the next call's arguments without its name (proxies of Gemini's API).
 */
import { parseRecord } from "../../../core/json.ts";
import { JsonRepair } from "../../../core/json-repair.ts";
import type { ToolCallDelta } from "../../../tasks/text-generation/types.ts";
import { decodedOnce, mayBeDecoded } from "../../tool-arguments.ts";
import type { CallState } from "./finish-reasons.ts";
import {
	isCutOff,
	NO_ARGUMENTS,
	readCall,
	type SentCall,
	type ToolCallContext,
	toolNameOf,
} from "./sent-calls.ts";

interface StreamedCall {
	/** The ids by which the engine names it. */
	ids: Set<string>;
	sentIndex: number | undefined;
	/** Its index and its id in the output. `undefined`: it has not begun, because its name may not be complete. */
	written: { index: number; id: string } | undefined;
	name: string;
	/** All arguments so far, as sent. To search in them copies them, so it is not done for each piece. */
	arguments: string;
	/** Repairs them. The end of what it returned that is not in the output is `unwritten`. */
	json: JsonRepair;
	unwritten: string;
	/** A part of them is in the output. */
	hasWritten: boolean;
	/** Further fields of the pieces before it has begun. */
	fields: Record<string, unknown>;
}

/** The calls of one choice. */
export class ToolCallAssembler {
	readonly #context: ToolCallContext;
	readonly #calls: StreamedCall[] = [];
	readonly #ids = new Set<string>();
	#count = 0;

	constructor(context: ToolCallContext) {
		this.#context = context;
	}

	/** Number of calls in the output. */
	get count(): number {
		return this.#count;
	}

	get state(): CallState {
		if (this.#count === 0) return "none";
		const isCut = this.#calls.some(
			({ json, arguments: text }) => json.state === "open" || (json.state === "other" && isCutOff(text)),
		);
		return isCut ? "cut" : "complete";
	}

	/** Whether the arguments of all calls are complete. */
	get isComplete(): boolean {
		return this.#calls.every(isComplete);
	}

	/** Reads the pieces of one delta. */
	add(sent: readonly unknown[]): ToolCallDelta[] {
		const matched = new Set<StreamedCall>();
		return sent.flatMap((value) => {
			const piece = readCall(value);
			const call = this.#callOf(piece, matched);
			matched.add(call);
			return this.#append(call, piece);
		});
	}

	/** The choice has ended. A call without a name is left out. */
	finish(): ToolCallDelta[] {
		return this.#calls.flatMap((call) => {
			const name = toolNameOf(call, this.#context);
			if (!call.written && name === undefined) return [];
			if (this.#isHeld(call)) setArguments(call, decodedOnce(call.arguments));
			if (call.arguments.trim() === "") addArguments(call, NO_ARGUMENTS);
			return this.#write(call, name ?? call.name, {}, true);
		});
	}

	#callOf(piece: SentCall, matched: ReadonlySet<StreamedCall>): StreamedCall {
		const { id, index, name } = piece;
		const last = this.#calls.at(-1);
		const byId = id === undefined ? undefined : this.#calls.findLast(({ ids }) => ids.has(id));
		if (byId) return matched.has(byId) && name !== "" ? this.#start(piece) : byId;
		const byIndex = index === undefined ? last : this.#callAt(index, piece);
		if (byIndex)
			return this.#isNextCall(byIndex, piece, matched) ? this.#start(piece, byIndex.name) : byIndex;
		// Arguments alone at an index without a call: the index is wrong.
		const continues = last && id === undefined && name === "" && !matched.has(last) && !isComplete(last);
		return continues ? last : this.#start(piece);
	}

	/** Some engines send indexes in the pieces of the arguments only. */
	#callAt(index: number, { id, name }: SentCall): StreamedCall | undefined {
		const numbered = this.#calls.findLast(({ sentIndex }) => sentIndex === index);
		const placed = id === undefined && name === "" ? this.#calls[index] : undefined;
		return numbered ?? (placed?.sentIndex === undefined ? placed : undefined);
	}

	/** Whether a piece with the index of `call`, and with another id or none, begins another call. */
	#isNextCall(
		call: StreamedCall,
		{ id, index, name, arguments: text }: SentCall,
		matched: ReadonlySet<StreamedCall>,
	) {
		// Some engines send the id of the next call before its name; others send another id with each piece of one call.
		if (name === "")
			return (text === "" ? id !== undefined : this.#beginsAgain(call, text)) && isComplete(call);
		if (call.name === "") return false;
		if (matched.has(call)) return true;
		const hasNewId = id !== undefined && call.ids.size > 0;
		if (name !== call.name) return hasNewId || call.arguments !== "" || !this.#isSplit(call.name + name);
		// Some engines send another id and the name with each piece. Arguments begin with a brace.
		const isBegun = index === undefined || call.arguments === "" || text === "" || begins(text);
		if (!isComplete(call)) return hasNewId && isBegun;
		return hasNewId || (text !== "" && text !== call.arguments);
	}

	/** Arguments after complete ones are those of another call of the same tool. `{}` may precede the arguments. */
	#beginsAgain(call: StreamedCall, text: string): boolean {
		return call.arguments !== NO_ARGUMENTS && text !== call.arguments && begins(text);
	}

	/** Whether two pieces are one tool's name, or its beginning. */
	#isSplit(name: string): boolean {
		return this.#context.toolNames.some((tool) => tool.startsWith(name));
	}

	/** @param before the name of the call before it: that of a piece with arguments alone. */
	#start({ index, id, name, arguments: text }: SentCall, before = ""): StreamedCall {
		const call: StreamedCall = {
			ids: new Set(),
			sentIndex: index,
			written: undefined,
			name: id === undefined && name === "" && text !== "" ? before : "",
			arguments: "",
			json: newRepair(),
			unwritten: "",
			hasWritten: false,
			fields: {},
		};
		this.#calls.push(call);
		return call;
	}

	#append(call: StreamedCall, { id, name, arguments: text, fields }: SentCall): ToolCallDelta[] {
		if (id !== undefined) call.ids.add(id);
		if (!call.written && name !== call.name) call.name += name;
		if (call.arguments === NO_ARGUMENTS && !call.hasWritten) setArguments(call, text || NO_ARGUMENTS);
		else if (text !== call.arguments || !isComplete(call)) addArguments(call, text);
		if (call.written || this.#hasCompleteName(call))
			return this.#write(call, toolNameOf(call, this.#context) ?? call.name, fields, false);
		call.fields = { ...call.fields, ...fields };
		return [];
	}

	#isHeld(call: StreamedCall): boolean {
		return !call.hasWritten && mayBeDecoded(call.arguments) && !this.#context.otherTools.has(call.name);
	}

	#hasCompleteName(call: StreamedCall): boolean {
		const { toolNames } = this.#context;
		if (call.name === "") return false;
		if (call.arguments !== "" || toolNames.length === 0) return true;
		return (
			toolNames.includes(call.name) &&
			!toolNames.some((tool) => tool.length > call.name.length && tool.startsWith(call.name))
		);
	}

	/** `{}` is written at the end only, because the arguments may follow. So are arguments that may be encoded twice. */
	#write(call: StreamedCall, name: string, fields: Record<string, unknown>, isEnd: boolean): ToolCallDelta[] {
		const isHeld = !isEnd && (call.arguments === NO_ARGUMENTS || this.#isHeld(call));
		const text = isHeld ? "" : call.unwritten;
		if (!isHeld) call.unwritten = "";
		call.hasWritten ||= text !== "";
		const { written } = call;
		if (written) {
			if (text === "" && Object.keys(fields).length === 0) return [];
			return [{ ...fields, index: written.index, function: { arguments: text } }];
		}
		const [sentId] = call.ids;
		const id = sentId !== undefined && !this.#ids.has(sentId) ? sentId : this.#context.newId();
		this.#ids.add(id);
		const index = this.#count++;
		call.written = { index, id };
		const called = { name, arguments: text };
		return [{ ...call.fields, ...fields, index, id, type: "function", function: called }];
	}
}

/** Nothing is held, so that pieces without a fault stay as they are. */
const newRepair = () => new JsonRepair({ holdsSigns: false });

/** For a call of which no arguments are written. */
function setArguments(call: StreamedCall, text: string): void {
	Object.assign(call, { arguments: "", unwritten: "", json: newRepair() });
	addArguments(call, text);
}

function addArguments(call: StreamedCall, text: string): void {
	call.arguments += text;
	call.unwritten += call.json.write(text);
}

/** Whether a piece is the beginning of arguments, which may be encoded twice. */
const begins = (text: string): boolean => /^\s*(?:"\s*|```\w*\s*)?\{/.test(text);

const isComplete = ({ json, arguments: text }: StreamedCall): boolean =>
	json.state === "complete" || parseRecord(decodedOnce(text)) !== undefined;
