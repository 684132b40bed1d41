/** Suggestions for misspelled names. */

export const quote = (text: string): string => JSON.stringify(text);

/** Text to append to an error: the candidate closest to `name`, as a question. Empty if none is close. */
export function didYouMean(name: string, candidates: readonly string[]): string {
	const [near] = nearNames(name, candidates, (candidate) => candidate);
	return near === undefined ? "" : asQuestion(near);
}

/** The same for the name of a field, also one with another form of a word: `retry` for `retries`, `passthru` for `passthrough`. */
export function didYouMeanField(name: string, fields: readonly string[]): string {
	const question = didYouMean(name, fields);
	if (question !== "" || name.length > MAX_FIELD_NAME) return question;
	const found = fields
		.map((field) => ({ field, shared: sharedStem(name.toLowerCase(), field.toLowerCase()) }))
		.filter(({ shared }) => shared > 0)
		.sort((a, b) => b.shared - a.shared);
	return found[0] === undefined ? "" : asQuestion(found[0].field);
}

export const asQuestion = (...names: readonly string[]): string =>
	`; did you mean ${names.map(quote).join(" or ")}?`;

/** The candidates that may be meant by `name`: misspelled ones, and then those that have the name as a part, the shortest first. */
export function nearNames<Candidate>(
	name: string,
	candidates: readonly Candidate[],
	nameOf: (candidate: Candidate) => string,
): Candidate[] {
	const misspelled = misspelledNames(name, candidates, nameOf);
	const part = withoutMarks(name.toLowerCase());
	const longer = candidates
		.filter((candidate) => !misspelled.includes(candidate) && isPart(part, nameOf(candidate).toLowerCase()))
		.sort((a, b) => nameOf(a).length - nameOf(b).length);
	return [...misspelled, ...longer];
}

/** The candidates from which `name` differs by a few characters, the closest first: by one for each `charactersPerSlip`, at most by 3. */
export function misspelledNames<Candidate>(
	name: string,
	candidates: readonly Candidate[],
	nameOf: (candidate: Candidate) => string,
	charactersPerSlip = 3,
): Candidate[] {
	const slips = Math.min(3, Math.floor(name.length / charactersPerSlip));
	const typed = name.toLowerCase();
	return candidates
		.map((candidate) => ({
			candidate,
			distance: editDistance(typed, nameOf(candidate).toLowerCase(), slips),
		}))
		.filter(({ distance }) => distance <= slips)
		.sort((a, b) => a.distance - b.distance)
		.map(({ candidate }) => candidate);
}

/** Letters and digits of a part by which a name is found. */
const MIN_PART = 3;

/** Letters at the beginning that two forms of a word have in common. */
const MIN_STEM = 4;
/** Of the shorter word. */
const STEM_SHARE = 2 / 3;
/** Characters. A longer name is no form of a field's name. */
export const MAX_FIELD_NAME = 100;

const wordsIn = (name: string): string[] => name.split(/[^\p{L}\p{N}]+/u);

/** How many letters a word of one name and a word of the other have in common at their beginning. 0 if they are not forms of one word. */
function sharedStem(a: string, b: string): number {
	const shared = wordsIn(a).flatMap((one) =>
		wordsIn(b).map((other) => {
			const shorter = Math.min(one.length, other.length);
			const first = [...one].findIndex((letter, i) => letter !== other[i]);
			const letters = first === -1 ? shorter : first;
			return letters >= MIN_STEM && letters >= shorter * STEM_SHARE ? letters : 0;
		}),
	);
	return Math.max(...shared);
}

/** Of `llama3.2:1b` and `llama-3.2-1b`, the same text. */
const withoutMarks = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, "");

/** Whether one of two names begins with the other one, at the beginning of a word. */
function isPart(part: string, full: string): boolean {
	if (part.length < MIN_PART) return false;
	const letters = withoutMarks(full);
	if (letters.length >= MIN_PART && part.startsWith(letters)) return true;
	const parts = full.split(/[^\p{L}\p{N}]+/u);
	return parts.some((_, first) => parts.slice(first).join("").startsWith(part));
}

/**
 * The number of insertions, deletions, replacements and swaps of neighbours that change `a` to `b`. Infinite if it is above `most`:
 * most names differ at once, so that a long list costs little.
 */
function editDistance(a: string, b: string, most: number): number {
	if (Math.abs(a.length - b.length) > most) return Infinity;
	let before: number[] = [];
	let row = Array.from({ length: b.length + 1 }, (_, j) => j);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
			const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(before, j - 2) + 1 : Infinity;
			next.push(Math.min(replaced, swapped, at(row, j) + 1, at(next, j - 1) + 1));
		}
		// A swap reads the row before the last one.
		if (Math.min(...next) > most && Math.min(...row) > most) return Infinity;
		[before, row] = [row, next];
	}
	return at(row, b.length);
}

const at = (row: readonly number[], j: number): number => row[j] ?? Infinity;
