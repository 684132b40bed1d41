import { bytesOfBase64, sizeOfUrl } from "../../counting/images.ts";
import { estimatedTokens, exact, tokenUpperBound } from "../../counting/quantities.ts";
import { soundsOf } from "../../counting/sound.ts";
import { Approximation, type Tally, UpperBound } from "../../counting/tally.ts";
import type { TaskDefinition } from "../definition.ts";
import type { DecisionInput, DecisionOutput } from "./types.ts";

/** One answer of a decision, with its probabilities. */
const ANSWER_TOKENS = 256;

/** Adds the parts of a decision to a token tally. */
function tallyDecision({ state, questions, images, audio, videos }: DecisionInput, tally: Tally): void {
	tally.opening();
	tally.markers(2);
	tally.json(state);
	for (const question of Object.values(questions)) {
		tally.markers(2);
		tally.json(question);
	}
	for (const url of images) tally.image(sizeOfUrl(url));
	for (const sound of soundsOf(audio)) tally.audio(sound);
	for (const url of videos) tally.video(bytesOfBase64(url));
}

/** Tokens of a decision by our own count. Images and audio count as documented for the Clef models. */
export function decisionTokens(input: DecisionInput): number {
	const tally = new Approximation();
	tallyDecision(input, tally);
	return tally.tokens;
}

export const decision: TaskDefinition<DecisionInput, DecisionOutput> = {
	estimate(input) {
		const tally = new UpperBound();
		tallyDecision(input, tally);
		return tokenUpperBound(tally.tokens, (Object.keys(input.questions).length + 1) * ANSWER_TOKENS);
	},
	measure(input, { usage: { input_tokens, output_tokens } }) {
		if (input_tokens > 0) return exact({ inputTokens: input_tokens, outputTokens: output_tokens });
		return estimatedTokens(decisionTokens(input), output_tokens);
	},
	completeUsage({ usage }, { quantities: { inputTokens = 0 } }) {
		usage.input_tokens = inputTokens;
	},
};
