/** The calls of one round: those of the search function stay here, and those of the caller's tools are for the caller. */
import { toolCallFragments } from "../../dialects/chat/chunks.ts";
import type { ToolCall, ToolCallDelta } from "../../tasks/text-generation/types.ts";
import { joinSeal, type PlacedCall } from "./search-seals.ts";

export class RoundCalls {
	readonly #toolName: string;
	readonly #fragmentOf: ReturnType<typeof toolCallFragments>;
	readonly #calls: ToolCall[] = [];
	/** Positions among the caller's calls, by the positions among all. */
	readonly #callerIndexes = new Map<number, number>();
	/** Parts of the caller's calls after a search. They wait for its result, which the first one carries. */
	readonly #held: { delta: ToolCallDelta; starts: boolean }[] = [];
	#seal: string;

	/** `seal`: of earlier rounds. The first call of the caller carries it. */
	constructor(toolName: string, uuid: () => string, seal = "") {
		this.#toolName = toolName;
		this.#fragmentOf = toolCallFragments(() => `call_${uuid().replaceAll("-", "")}`);
		this.#seal = seal;
	}

	get searches(): PlacedCall[] {
		return this.#calls.flatMap((call, at) => (this.#isSearch(call) ? { at, call } : []));
	}

	get hasCallerCalls(): boolean {
		return this.#callerIndexes.size > 0;
	}

	/** Returns the part for the caller, if there is one. `holds`: parts after a search wait for {@link release}. */
	add(delta: ToolCallDelta, holds = false): ToolCallDelta | undefined {
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
		const sent: ToolCallDelta = {
			...delta,
			index: callerIndex,
			...(start && { id: start.id, type: "function" }),
			function: { ...(start && { name: start.name }), arguments: fragment },
		};
		if (holds && this.#calls.some((each) => this.#isSearch(each))) {
			this.#held.push({ delta: sent, starts: start !== undefined });
			return undefined;
		}
		return start ? this.#sealed(sent) : sent;
	}

	/** The parts that have waited. `unsent`: the seal that no call can carry, because all have started before. */
	release(seal: string): { deltas: ToolCallDelta[]; unsent: string } {
		this.#seal += seal;
		const deltas = this.#held.splice(0).map(({ delta, starts }) => (starts ? this.#sealed(delta) : delta));
		return { deltas, unsent: this.#seal };
	}

	#sealed(delta: ToolCallDelta): ToolCallDelta {
		const sealed = joinSeal(delta, this.#seal);
		this.#seal = "";
		return sealed;
	}

	#isSearch({ function: called }: ToolCall): boolean {
		return called.name === this.#toolName;
	}
}
