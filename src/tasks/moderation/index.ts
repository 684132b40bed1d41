/** Moderation: whether texts and images are harmful, and how. A guard model is called for each part of a text. */
import { sizeOfUrl } from "../../counting/images.ts";
import { estimatedTokens, measuredBy, tokenUpperBound } from "../../counting/quantities.ts";
import { Approximation, type Tally, UpperBound } from "../../counting/tally.ts";
import type { TaskDefinition } from "../definition.ts";
import { chunksOf } from "./chunks.ts";
import type { ModeratedItem, ModerationInput, ModerationOutput } from "./types.ts";

/** Llama Guard's template has the list of hazards: about 350. */
const TEMPLATE_TOKENS = 512;
/** A verdict and all hazards. */
export const MAX_VERDICT_TOKENS = 100;
const TYPICAL_VERDICT_TOKENS = 3;

/** The texts of the calls for one item: at least one. */
export function piecesOf({ text }: Pick<ModeratedItem, "text">): string[] {
	const pieces = chunksOf(text);
	return pieces.length > 0 ? pieces : [""];
}

/** Returns the number of calls. */
function tallyItems({ items }: ModerationInput, tally: Tally): number {
	let calls = 0;
	for (const item of items) {
		for (const piece of piecesOf(item)) {
			tally.text(piece);
			calls++;
		}
		for (const url of item.images) tally.image(sizeOfUrl(url));
	}
	return calls;
}

export const moderation: TaskDefinition<ModerationInput, ModerationOutput> = {
	estimate(input) {
		const tally = new UpperBound();
		const calls = tallyItems(input, tally);
		return tokenUpperBound(tally.tokens + calls * TEMPLATE_TOKENS, calls * MAX_VERDICT_TOKENS);
	},
	measure: (input, { usage }) =>
		measuredBy(usage, () => {
			const tally = new Approximation();
			const calls = tallyItems(input, tally);
			return estimatedTokens(tally.tokens, calls * TYPICAL_VERDICT_TOKENS);
		}),
	prompt: ({ items }) => ({ texts: items.map(({ text }) => text), openingTexts: 0, mediaTokens: 0 }),
};
