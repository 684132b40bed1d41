/** The calls of one round: those of the search function stay here, and those of the caller's tools are for the caller. */
import { toolCallFragments } from "../../dialects/chat/chunks.ts";
import type { ToolCall, ToolCallDelta } from "../../tasks/text-generation/types.ts";

export class RoundCalls {
	readonly #toolName: string;
	readonly #fragmentOf: ReturnType<typeof toolCallFragments>;
	readonly #calls: ToolCall[] = [];
	/** Positions among the caller's calls, by the positions among all. */
	readonly #callerIndexes = new Map<number, number>();

	constructor(toolName: string, uuid: () => string) {
		this.#toolName = toolName;
		this.#fragmentOf = toolCallFragments(() => `call_${uuid().replaceAll("-", "")}`);
	}

	get searches(): ToolCall[] {
		return this.#calls.filter(({ function: called }) => called.name === this.#toolName);
	}

	get hasCallerCalls(): boolean {
		return this.#callerIndexes.size > 0;
	}

	/** Returns the part for the caller, if there is one. */
	add(delta: ToolCallDelta): ToolCallDelta | undefined {
		if (!delta.function?.name && !delta.function?.arguments) return undefined;
		const { index, start, arguments: fragment } = this.#fragmentOf(delta);
		const { extra_content } = delta;
		if (start) {
			this.#calls[index] = {
				id: start.id,
				type: "function",
				function: { name: start.name, arguments: "" },
				...(extra_content && { extra_content }),
			};
			if (start.name !== this.#toolName) this.#callerIndexes.set(index, this.#callerIndexes.size);
		}
		const call = this.#calls[index];
		if (call) call.function.arguments += fragment;
		const callerIndex = this.#callerIndexes.get(index);
		if (callerIndex === undefined) return undefined;
		return {
			...delta,
			index: callerIndex,
			...(start && { id: start.id, type: "function" }),
			function: { ...(start && { name: start.name }), arguments: fragment },
		};
	}
}
