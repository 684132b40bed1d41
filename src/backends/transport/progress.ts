/** Counts what of a chat stream has passed, for whoever must bill it when it ends early. */

import { laterUsage, type Usage } from "../../core/usage.ts";
import { TokenCount } from "../../counting/token-estimate.ts";
import type { Progress } from "../../tasks/task.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";

/** Engines that stream token by token stay below this many characters an event, on average. */
const MAX_CHARACTERS_OF_A_TOKEN = 8;

/** The deltas of a stream that is passed on are the engine's own: nobody has looked whether each is what it should be. */
export type SentDelta = { readonly [Field in keyof ChatDelta]?: unknown };

export class StreamProgress implements Progress {
	#usage: Usage | undefined;
	#deltas = 0;
	#characters = 0;
	readonly #count = new TokenCount();

	get usage(): Usage | undefined {
		return this.#usage;
	}

	/** An event a token, where that can be; else what the text is worth. */
	get outputTokens(): number {
		const tokenByToken = this.#characters <= this.#deltas * MAX_CHARACTERS_OF_A_TOKEN;
		return tokenByToken ? this.#deltas : this.#count.tokens;
	}

	/** A whole event. */
	see({ choices, usage }: Pick<ChatChunk, "choices" | "usage">): void {
		for (const { delta } of choices) this.pass(delta);
		this.count(usage);
	}

	count(usage: Usage | null | undefined): void {
		this.#usage = laterUsage(this.#usage, usage);
	}

	/** One delta of one choice. */
	pass(delta: SentDelta): void {
		const text = textOf(delta);
		if (text === "") return;
		this.#deltas++;
		this.#characters += text.length;
		this.#count.add(text);
	}
}

function textOf(delta: SentDelta): string {
	const { content, reasoning_content, reasoning, refusal, tool_calls } = delta;
	const said = stringOf(content) + stringOf(reasoning_content ?? reasoning) + stringOf(refusal);
	return Array.isArray(tool_calls) ? said + tool_calls.map(calledIn).join("") : said;
}

/** The text of one piece of a tool call. */
function calledIn(call: { function?: { name?: unknown; arguments?: unknown } | null } | null): string {
	const called = call?.function;
	return stringOf(called?.name) + stringOf(called?.arguments);
}

const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");
