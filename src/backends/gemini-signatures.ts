/** Gemini's signatures of thoughts, by the part of an answer that each belongs to: the text, or a call by its index. */
import * as z from "zod";
import { lazy } from "../core/lazy.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import type { ChatMessage } from "../tasks/text-generation/types.ts";
import type { Target } from "./backend.ts";
import { signsCalls } from "./gemini/generation.ts";
import { openMessage } from "./sealed-messages.ts";
import { DROPPED_SEAL, type Seals } from "./seals.ts";
import type { Call } from "./transport/upstream-failure.ts";

const Signature = lazy(() =>
	z.object({ place: z.union([z.literal("text"), z.number()]), signature: z.string() }),
);
type Signature = z.output<ReturnType<typeof Signature>>;

/** Google's value for a call that Gemini did not make, or whose signature is missing. */
const NO_SIGNATURE = "skip_thought_signature_validator";

export const sealSignature = (signature: Signature, seals: Seals | undefined): string | undefined =>
	seals?.seal(signature);

export function openSignatures(
	message: ChatMessage,
	seals: Seals | undefined,
	{ report }: Pick<Call, "report">,
): ReadonlyMap<Signature["place"], string> {
	const signatures = new Map<Signature["place"], string>();
	for (const value of openMessage(message, seals)) {
		const { data } = safeParse(Signature(), value);
		if (data) signatures.set(data.place, data.signature);
		else report?.dropped.push(DROPPED_SEAL);
	}
	return signatures;
}

/** The value for a call without a signature. Of parallel calls, only the first needs one. */
export const unsignedCall = (index: number, { model }: Pick<Target, "model">): string | undefined =>
	index === 0 && signsCalls(model) ? NO_SIGNATURE : undefined;
