/**
 * The calls of a response, which are written one after another. Engines may interleave the fragments of several calls: a call waits until
 * the arguments of the call before it are complete JSON, or until the stream finishes.
 */
import { JsonRepair } from "../../core/json-repair.ts";
import type { EventSequence } from "./event-sequence.ts";
import { type AnswerItem, type CallItem, type MessageItem, setArguments } from "./items.ts";

interface OpenCall {
	item: CallItem;
	json: JsonRepair;
	/** The arguments so far, repaired, and their end that is not sent. What cannot be repaired is as sent, as at OpenAI. */
	text: string;
	unsent: string;
}

const isComplete = ({ json }: OpenCall): boolean => json.state === "complete";

/** Methods that return a text return the events to send. A call is named by its index among the calls. */
export class CallEvents {
	readonly #sequence: EventSequence<AnswerItem>;
	readonly #calls: OpenCall[] = [];
	/** The index of the first call that is not done. */
	#current = 0;

	constructor(sequence: EventSequence<AnswerItem>) {
		this.#sequence = sequence;
	}

	get count(): number {
		return this.#calls.length;
	}

	/** The last call, if it is not done. */
	get lastOpen(): CallItem | undefined {
		return this.#calls.slice(this.#current).at(-1)?.item;
	}

	start(index: number, item: CallItem): void {
		this.#calls[index] = { item, json: new JsonRepair(), text: "", unsent: "" };
	}

	/** Writes calls in order. A call with a successor is done as soon as its arguments are complete. */
	add(index: number, fragment: string): string {
		const added = this.#calls[index];
		if (added) {
			const written = added.json.write(fragment);
			added.text += written;
			added.unsent += written;
		}
		let out = "";
		for (;;) {
			const call = this.#calls[this.#current];
			if (!call) return out;
			out += this.#write(call);
			if (!this.#calls[this.#current + 1] || !isComplete(call)) return out;
			out += this.#close(call);
		}
	}

	/** Adds a fragment that the caller has received in an event of the upstream. */
	addForwarded(index: number, fragment: string): void {
		const call = this.#calls[index];
		if (!call) return;
		call.text += call.json.write(fragment);
		call.unsent = "";
	}

	/** An event of the upstream has ended the first open call. */
	endFirst(): void {
		this.#current++;
	}

	/** Called when text follows a call. */
	closeComplete(): string {
		const call = this.#calls[this.#current];
		return call && isComplete(call) ? this.#close(call) : "";
	}

	/** Ends the open calls. */
	finish(statusOf: (item: CallItem) => MessageItem["status"]): string {
		let out = "";
		for (const call of this.#calls.slice(this.#current))
			out += this.#write(call) + this.#close(call, statusOf(call.item));
		return out;
	}

	#write(call: OpenCall): string {
		const { item, text, unsent: delta } = call;
		let out = "";
		if (!this.#sequence.output.includes(item)) out += this.#sequence.addItem(item);
		// The fields of all other items can only be read from complete JSON.
		if (item.type !== "function_call" || delta === "") return out;
		call.unsent = "";
		setArguments(item, text);
		const fragment = { ...this.#sequence.position(item), delta };
		return out + this.#sequence.event("response.function_call_arguments.delta", fragment);
	}

	#close({ item, text }: OpenCall, status: MessageItem["status"] = "completed"): string {
		this.#current++;
		const position = this.#sequence.position(item);
		setArguments(item, text);
		let out = "";
		if (item.type === "function_call") {
			const { arguments: args } = item;
			out = this.#sequence.event("response.function_call_arguments.done", { ...position, arguments: args });
		} else if (item.type === "custom_tool_call") {
			const { input } = item;
			if (input)
				out = this.#sequence.event("response.custom_tool_call_input.delta", { ...position, delta: input });
			out += this.#sequence.event("response.custom_tool_call_input.done", { ...position, input });
		}
		return out + this.#sequence.finishItem(item, status);
	}
}
