import { exact, tokenUpperBound } from "../../counting/quantities.ts";
import { UpperBound } from "../../counting/tally.ts";
import type { TaskDefinition } from "../definition.ts";
import { tallyDecision } from "./tally.ts";
import type { DecisionInput, DecisionOutput } from "./types.ts";

/** One answer of a decision, with its probabilities. */
const ANSWER_TOKENS = 256;

export const decision: TaskDefinition<DecisionInput, DecisionOutput> = {
	estimate(input) {
		const tally = new UpperBound();
		tallyDecision(input, tally);
		return tokenUpperBound(tally.tokens, (Object.keys(input.questions).length + 1) * ANSWER_TOKENS);
	},
	measure: (_, { usage }) => exact({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
};
