/**
 * OpenRouter's `reasoning_details` for callers whose format does not have them: all of an answer are in one seal, beside the text of
 * the reasoning and at the first call. OpenRouter wants them back as its answer had them; the pieces of a stream are joined.
 * https://openrouter.ai/docs/use-cases/reasoning-tokens
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type {
	AssistantMessage,
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ChatMessage,
	ThinkingBlock,
} from "../../tasks/text-generation/types.ts";
import { callSeal, openMessage } from "../sealed-messages.ts";
import { DROPPED_SEAL, isSeal, type Seals } from "../seals.ts";
import type { ReviseChunk } from "../transport/chunk-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";

type Detail = Readonly<Record<string, unknown>>;

const SealedDetails = lazy(() => z.object({ details: z.array(z.looseObject({ type: z.string() })) }));

/** The details of an assistant's message: as the caller has them, without the seals of other models, or those in its seals. */
export function detailsOf(
	message: ChatMessage,
	seals: Seals | undefined,
	{ report }: Pick<Call, "report">,
): readonly Detail[] {
	if (message.reasoning_details) return message.reasoning_details.filter(({ data }) => !isSeal(data));
	return openMessage(message, seals).flatMap((value): Detail[] => {
		const { data } = safeParse(SealedDetails(), value);
		if (!data) report?.dropped.push(DROPPED_SEAL);
		return data?.details ?? [];
	});
}

/** Replaces the details of a complete answer by seals. */
export const sealDetails = (reply: ChatCompletion, seals: Seals | undefined): ChatCompletion => ({
	...reply,
	choices: reply.choices.map((choice) => ({ ...choice, message: sealedMessage(choice.message, seals) })),
});

function sealedMessage(sent: AssistantMessage, seals: Seals | undefined): AssistantMessage {
	const { reasoning_details, ...message } = sent;
	const seal = sealOf(detailsIn(reasoning_details), seals);
	if (seal === undefined) return message;
	const [first, ...calls] = message.tool_calls ?? [];
	return {
		...message,
		thinking_blocks: [blockOf(message.reasoning_content || message.reasoning || "", seal)],
		...(first && { tool_calls: [{ ...first, ...callSeal(seal) }, ...calls] }),
	};
}

/** Replaces the details in the chunks of a stream by a seal, as soon as the reasoning has ended. */
export function detailsSealer(seals: Seals | undefined): ReviseChunk {
	const choices = new Map<unknown, DetailsSealer>();
	return (chunk) => {
		const { choices: sent } = chunk as Partial<ChatChunk>;
		if (!Array.isArray(sent)) return undefined;
		const revised = sent.map((choice) => {
			const sealer = choices.get(choice.index) ?? new DetailsSealer(seals);
			choices.set(choice.index, sealer);
			return sealer.revise(choice);
		});
		return revised.some((choice, position) => choice !== sent[position]) ? { choices: revised } : undefined;
	};
}

/** One choice of a stream. */
class DetailsSealer {
	readonly #seals: Seals | undefined;
	#text = "";
	/** Those that are in no seal. */
	#details: Detail[] = [];

	constructor(seals: Seals | undefined) {
		this.#seals = seals;
	}

	revise(choice: ChatChunk["choices"][number]): ChatChunk["choices"][number] {
		const { reasoning_details, ...delta } = choice.delta;
		this.#text += delta.reasoning_content || delta.reasoning || "";
		for (const detail of detailsIn(reasoning_details)) this.#add(detail);
		const hasEnded = Boolean(delta.content || delta.tool_calls?.length || choice.finish_reason);
		const sealed = hasEnded ? this.#seal(delta) : undefined;
		if (!sealed && reasoning_details === undefined) return choice;
		return { ...choice, delta: { ...delta, ...sealed } };
	}

	/** Continues the last detail, if both are pieces of one. */
	#add(detail: Detail): void {
		const last = this.#details.at(-1);
		const continues =
			last && last.type === detail.type && last.index === detail.index && PIECES.has(detail.type);
		if (continues) this.#details[this.#details.length - 1] = joined(last, detail);
		else this.#details.push(detail);
	}

	#seal({ tool_calls }: ChatDelta): ChatDelta | undefined {
		const seal = sealOf(this.#details, this.#seals);
		if (seal === undefined) return undefined;
		const thinking_blocks = [blockOf(this.#text, seal)];
		this.#details = [];
		this.#text = "";
		const [first, ...calls] = tool_calls ?? [];
		const begins = first?.function?.name ? { ...first, ...callSeal(seal) } : first;
		return { thinking_blocks, ...(begins && { tool_calls: [begins, ...calls] }) };
	}
}

/** Types whose texts come in pieces. */
const PIECES: ReadonlySet<unknown> = new Set(["reasoning.text", "reasoning.summary"]);

function joined(before: Detail, piece: Detail): Detail {
	const present = Object.fromEntries(Object.entries(piece).filter(([, value]) => value != null));
	const texts = ["text", "summary"].flatMap((field) => {
		const text = `${before[field] ?? ""}${piece[field] ?? ""}`;
		return text === "" ? [] : [[field, text] as const];
	});
	return { ...before, ...present, ...Object.fromEntries(texts) };
}

const detailsIn = (sent: unknown): Detail[] => (Array.isArray(sent) ? sent.filter(isRecord) : []);

const sealOf = (details: readonly Detail[], seals: Seals | undefined): string | undefined =>
	details.length > 0 ? seals?.seal({ details }) : undefined;

/** Reasoning without a text is hidden. */
const blockOf = (thinking: string, seal: string): ThinkingBlock =>
	thinking === ""
		? { type: "redacted_thinking", data: seal }
		: { type: "thinking", thinking, signature: seal };
