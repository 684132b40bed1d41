/**
 * Decisions by likeness of words: the option whose description shares most with the state. A *noul* is the
 * probability that its instructions hold; a *score* is the expected level, from 0, over its criteria.
 */
import type { DecisionAnswer, DecisionInput, Question } from "../../tasks/decision.ts";
import type { Answer } from "../../tasks/task.ts";
import { sentiment } from "./classification.ts";
import { cosine, embed } from "./embeddings.ts";
import { within } from "./text.ts";
import { countTokens } from "./tokens.ts";

const DIMENSIONS = 1024;
/** A longer state is read at its beginning and at its end. */
const MAX_STATE_CHARACTERS = 100_000;
/** How much likeness decides: texts that share one word of four end at about 0.8 against 0.2. */
const SHARPNESS = 6;
/** Share of the sentiment in the likeness: "The customer is happy" and "I love it" have no word in common. */
const SENTIMENT_WEIGHT = 0.2;
/** The likeness above which a statement alone counts as more likely than not. */
const UNRELATED = 0.15;
/** What an image, a sound or a video counts for. */
const MEDIA_TOKENS = 256;

/** The words of a JSON value, names included. */
const wordsOf = (value: unknown): string =>
	typeof value === "string" ? value : (JSON.stringify(value) ?? "").replace(/[{}[\]"_]/g, " ");

const round = (value: number): number => Math.round(value * 1e6) / 1e6;

function softmax(values: number[]): number[] {
	const most = Math.max(...values);
	const powers = values.map((value) => Math.exp((value - most) * SHARPNESS));
	const sum = powers.reduce((total, power) => total + power, 0);
	const shares = powers.map((power) => round(power / sum));
	// What rounding lost goes to the first, so that they add up.
	const lost = 1 - shares.reduce((total, share) => total + share, 0);
	return shares.map((share, index) => (index === 0 ? round(share + lost) : share));
}

export async function decision(input: DecisionInput): Promise<Answer<"decision">> {
	const state = within(wordsOf(input.state), MAX_STATE_CHARACTERS);
	const stateVector = embed(state, DIMENSIONS);
	const stateSentiment = Math.tanh(sentiment(state) / 3);
	const likeness = (text: string) =>
		cosine(stateVector, embed(text, DIMENSIONS)) +
		SENTIMENT_WEIGHT * stateSentiment * Math.tanh(sentiment(text) / 3);

	const answers = Object.fromEntries(
		Object.entries(input.questions).map(([id, question]) => [id, answer(question, likeness)]),
	);
	const media = input.images.length + input.audio.length + input.videos.length;
	const input_tokens =
		countTokens(wordsOf(input.state)) + countTokens(JSON.stringify(input.questions)) + media * MEDIA_TOKENS;
	// No text is written, so nothing is counted as output.
	return { kind: "value", output: { answers, usage: { input_tokens, output_tokens: 0 } } };
}

function answer(question: Question, likeness: (text: string) => number): DecisionAnswer {
	const { instructions } = question;
	switch (question.type) {
		case "noul": {
			const { true: yes, false: no } = question.criteria ?? {};
			const holds = likeness(yes ?? instructions);
			// Without a description of the opposite, nothing in common is the opposite.
			const fails = no === undefined ? UNRELATED : likeness(no);
			const [noul = 0.5] = softmax([holds, fails]);
			return { type: "noul", noul };
		}
		case "choice": {
			const options = Object.entries(question.criteria);
			const shares = softmax(options.map(([option, description]) => likeness(`${option} ${description}`)));
			const probabilities = Object.fromEntries(
				options.map(([option], index) => [option, shares[index] ?? 0]),
			);
			const confidence = Math.max(...shares);
			const [choice = ""] = options[shares.indexOf(confidence)] ?? [];
			return { type: "choice", choice, probabilities, confidence };
		}
		case "score": {
			const shares = softmax(question.criteria.map(likeness));
			const score = round(shares.reduce((sum, share, level) => sum + share * level, 0));
			const levels = <Value>(values: Value[]) => Object.fromEntries(values.entries());
			return {
				type: "score",
				score,
				legend: levels(question.criteria),
				probabilities: levels(shares),
				confidence: Math.max(...shares),
			};
		}
		default:
			return question satisfies never;
	}
}
