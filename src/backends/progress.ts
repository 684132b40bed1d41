/** Counts what of a chat stream has passed, for whoever must bill it when it ends early. */
import type { Progress } from "../tasks/task.ts";
import type { ChatChunk, ChatDelta, Usage } from "../tasks/text-generation.ts";
import { laterUsage } from "../tasks/usage.ts";
import { TokenCount } from "../tokens.ts";

/** Engines that stream token by token stay below this many characters an event, on average. */
const MAX_CHARACTERS_OF_A_TOKEN = 8;

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
	pass(delta: ChatDelta): void {
		const text = textOf(delta);
		if (text === "") return;
		this.#deltas++;
		this.#characters += text.length;
		this.#count.add(text);
	}
}

function textOf({ content, reasoning_content, reasoning, refusal, tool_calls }: ChatDelta): string {
	const said = `${content ?? ""}${reasoning_content ?? reasoning ?? ""}${refusal ?? ""}`;
	if (!tool_calls) return said;
	const calls = tool_calls.map(({ function: called }) => `${called?.name ?? ""}${called?.arguments ?? ""}`);
	return said + calls.join("");
}
