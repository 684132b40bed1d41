/** Counts the sent part of a chat stream: a stream that ends early is billed by it. */
import { laterUsage, type Usage } from "../../core/usage.ts";
import { TokenCount } from "../../counting/token-estimate.ts";
import type { Progress } from "../../tasks/task.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";

/** An engine that sends one token per event sends fewer characters per event on average. */
const MAX_CHARACTERS_PER_TOKEN = 8;
/** Characters of each stream that are kept for an estimate. */
const MAX_UNCOUNTED = 4_096;

/** A delta as the engine sent it: its fields have not been checked. */
export type SentDelta = { readonly [Field in keyof ChatDelta]?: unknown };

export class StreamProgress implements Progress {
	isRepaired = false;
	toolCalls = 0;
	#usage: Usage | undefined;
	#deltas = 0;
	#characters = 0;
	readonly #count = new TokenCount();
	/** The last text, which is not in the estimate yet. Most answers are short, and need no estimate. */
	#uncounted = "";

	get usage(): Usage | undefined {
		return this.#usage;
	}

	/** One token per event if that is plausible; otherwise an estimate from the text. */
	get outputTokens(): number {
		const tokenByToken = this.#characters <= this.#deltas * MAX_CHARACTERS_PER_TOKEN;
		if (tokenByToken) return this.#deltas;
		this.#countText();
		return this.#count.tokens;
	}

	/** Adds a complete event. */
	addChunk({ choices, usage }: Pick<ChatChunk, "choices" | "usage">): void {
		for (const { delta } of choices) this.addDelta(delta);
		this.addUsage(usage);
	}

	addUsage(usage: Usage | null | undefined): void {
		this.#usage = laterUsage(this.#usage, usage);
	}

	/** Adds one delta of one choice. */
	addDelta(delta: SentDelta): void {
		this.addText(textOf(delta));
	}

	/** Adds the text of one delta. */
	addText(text: string): void {
		if (text === "") return;
		this.#deltas++;
		this.#characters += text.length;
		this.#uncounted += text;
		if (this.#uncounted.length >= MAX_UNCOUNTED) this.#countText();
	}

	#countText(): void {
		this.#count.add(this.#uncounted);
		this.#uncounted = "";
	}
}

function textOf(delta: SentDelta): string {
	const { content, reasoning_content, reasoning, refusal, tool_calls } = delta;
	const text = stringOf(content) + stringOf(reasoning_content ?? reasoning) + stringOf(refusal);
	return Array.isArray(tool_calls) ? text + tool_calls.map(toolCallText).join("") : text;
}

/** The text of one piece of a tool call. */
function toolCallText(call: { function?: { name?: unknown; arguments?: unknown } | null } | null): string {
	return stringOf(call?.function?.name) + stringOf(call?.function?.arguments);
}

const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");
