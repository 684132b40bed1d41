/**
 * OpenRouter's `reasoning_details`. OpenRouter wants them back as its answer had them; the pieces of a stream are joined. A chat has the
 * details in the answer, with a seal in place of each `signature` and `data`: it holds the complete detail. In other formats all of an
 * answer are in one seal, beside the text of the reasoning and at the first call.
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
import { traitsOf } from "../anthropic/traits.ts";
import type { Target } from "../backend.ts";
import { callSeal, openMessage } from "../sealed-messages.ts";
import { DROPPED_SEAL, type Seals } from "../seals.ts";
import type { ReviseChunk } from "../transport/chunk-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";

type Detail = Readonly<Record<string, unknown>>;
type ReportedCall = Pick<Call, "report">;

const SealedDetails = lazy(() => z.object({ details: z.array(z.looseObject({ type: z.string() })) }));

/** The details of an assistant's message: the contents of its seals, and details without a secret as the caller has them. */
export function detailsOf(
	message: ChatMessage,
	seals: Seals | undefined,
	call: ReportedCall,
): readonly Detail[] {
	const details = joinPieces(message.reasoning_details ?? []).flatMap((detail) => {
		const secret = secretOf(detail);
		return secret === undefined ? [detail] : contentsOf(seals?.open(secret) ?? [], call);
	});
	return details.length > 0 ? details : contentsOf(openMessage(message, seals), call);
}

/** Claude with a budget for its thoughts refuses results of calls without the thoughts before them. */
export function lacksDetails(messages: readonly object[], { model }: Pick<Target, "model">): boolean {
	const sent = messages as readonly { role: string; reasoning_details?: unknown }[];
	if (sent.at(-1)?.role !== "tool" || !model.includes("claude")) return false;
	const calling = sent.findLast(({ role }) => role === "assistant");
	return !calling?.reasoning_details && traitsOf(model).thinking === "budget";
}

const contentsOf = (values: readonly unknown[], { report }: ReportedCall): Detail[] =>
	values.flatMap((value): Detail[] => {
		const { data } = safeParse(SealedDetails(), value);
		if (!data) report?.dropped.push(DROPPED_SEAL);
		return data?.details ?? [];
	});

/** Replaces the secrets in the details of a complete answer by seals. */
export const sealSecrets = (reply: ChatCompletion, seals: Seals | undefined): ChatCompletion => ({
	...reply,
	choices: reply.choices.map((choice) => {
		const { reasoning_details, ...message } = choice.message;
		if (!Array.isArray(reasoning_details)) return choice;
		const sealer = new SecretsSealer(seals);
		return { ...choice, message: { ...message, reasoning_details: sealer.seal(reasoning_details) } };
	}),
});

/** Replaces the secrets in the details of a stream by seals. */
export function secretsSealer(seals: Seals | undefined): ReviseChunk {
	return byChoice(() => {
		const sealer = new SecretsSealer(seals);
		return (choice) => {
			const { reasoning_details } = choice.delta;
			if (!Array.isArray(reasoning_details)) return choice;
			return { ...choice, delta: { ...choice.delta, reasoning_details: sealer.seal(reasoning_details) } };
		};
	});
}

/** One choice of an answer. */
class SecretsSealer {
	readonly #seals: Seals | undefined;
	/** The pieces of the current detail, joined. */
	#whole: Detail | undefined;

	constructor(seals: Seals | undefined) {
		this.#seals = seals;
	}

	/** A detail whose secret cannot be sealed is left out. */
	seal(details: unknown[]): Detail[] {
		return detailsIn(details).flatMap((detail) => {
			this.#whole = continues(this.#whole, detail) ? joined(this.#whole, detail) : detail;
			const field = SECRETS.find((name) => detail[name]);
			if (!field) return [detail];
			const seal = sealOf([this.#whole], this.#seals);
			const { signature: _, data: _data, ...others } = detail;
			return seal === undefined ? [] : [{ ...others, [field]: seal }];
		});
	}
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
export const detailsSealer = (seals: Seals | undefined): ReviseChunk =>
	byChoice(() => {
		const sealer = new DetailsSealer(seals);
		return (choice) => sealer.revise(choice);
	});

type Choice = ChatChunk["choices"][number];

/** Revises the choices of a stream's chunks. `create` makes what each choice needs. */
function byChoice(create: () => (choice: Choice) => Choice): ReviseChunk {
	const choices = new Map<unknown, (choice: Choice) => Choice>();
	return (chunk) => {
		const { choices: sent } = chunk as Partial<ChatChunk>;
		if (!Array.isArray(sent)) return undefined;
		const revised = sent.map((choice) => {
			const revise = choices.get(choice.index) ?? create();
			choices.set(choice.index, revise);
			return revise(choice);
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

	revise(choice: Choice): Choice {
		const { reasoning_details, ...delta } = choice.delta;
		this.#text += delta.reasoning_content || delta.reasoning || "";
		this.#details = joinPieces([...this.#details, ...detailsIn(reasoning_details)]);
		const hasEnded = Boolean(delta.content || delta.tool_calls?.length || choice.finish_reason);
		const sealed = hasEnded ? this.#seal(delta) : undefined;
		if (!sealed && reasoning_details === undefined) return choice;
		return { ...choice, delta: { ...delta, ...sealed } };
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

/** Types whose texts come in pieces. The last piece has the signature. */
const PIECES: ReadonlySet<unknown> = new Set(["reasoning.text", "reasoning.summary"]);

const continues = (last: Detail | undefined, detail: Detail): last is Detail =>
	last !== undefined &&
	PIECES.has(detail.type) &&
	last.type === detail.type &&
	last.index === detail.index &&
	secretOf(last) === undefined;

const joinPieces = (details: readonly Detail[]): Detail[] =>
	details.reduce<Detail[]>((whole, detail) => {
		const last = whole.at(-1);
		if (continues(last, detail)) whole[whole.length - 1] = joined(last, detail);
		else whole.push(detail);
		return whole;
	}, []);

function joined(before: Detail, piece: Detail): Detail {
	const present = Object.fromEntries(Object.entries(piece).filter(([, value]) => value != null));
	const texts = ["text", "summary"].flatMap((field) => {
		const text = `${before[field] ?? ""}${piece[field] ?? ""}`;
		return text === "" ? [] : [[field, text] as const];
	});
	return { ...before, ...present, ...Object.fromEntries(texts) };
}

/** The fields that only the model's provider can read. */
const SECRETS = ["signature", "data"] as const;

function secretOf(detail: Detail): string | undefined {
	const field = SECRETS.find((name) => detail[name]);
	return field && String(detail[field]);
}

const detailsIn = (sent: unknown): Detail[] => (Array.isArray(sent) ? sent.filter(isRecord) : []);

const sealOf = (details: readonly Detail[], seals: Seals | undefined): string | undefined =>
	details.length > 0 ? seals?.seal({ details }) : undefined;

/** Reasoning without a text is hidden. */
const blockOf = (thinking: string, seal: string): ThinkingBlock =>
	thinking === ""
		? { type: "redacted_thinking", data: seal }
		: { type: "thinking", thinking, signature: seal };
