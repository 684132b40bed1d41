/** Which statements of a conversation answer its question, by the words they share. */
import { relevance } from "./bm25.ts";
import { type Conversation, isQuestion, type Statement } from "./conversation.ts";
import { type Person, persons } from "./person.ts";
import { term, terms, termsOf, words } from "./text.ts";

/** Share of the question's weight that a statement must have. */
const ENOUGH = 0.36;
/** Share that a further statement must add to what is said already. */
const ADDS = 0.2;
const MAX_STATEMENTS = 3;
/** Each is held against every statement. */
const MAX_QUESTIONS = 8;
/** What the newest turn is worth above the oldest. */
const RECENCY = 0.2;
/** What statements by the model itself are worth: the source is better than its echo. */
const ECHO = 0.8;
const ANSWER_KIND_BONUS = 1.15;
const KIND_WEIGHT = 0.25;
const NAME_WEIGHT = 1.5;

const POLITE =
	/^(?:(?:please|hey|hi|hello|ok|so|and|now|well)[\s,]+)*(?:(?:can|could|would|will) you (?:please )?(?:tell|remind|give|show) me\s*|do you (?:know|remember|recall)\s*|(?:tell|remind|give|show) me\s*|i(?:'d| would) (?:like|want) to know\s*)?/i;

const CALLED =
	/\b(?:[Ii] am|[Ii]['’]?m|[Cc]all me|[Tt]his is|[Yy]ou are|[Yy]ou['’]re)\s+(?:called\s+)?\p{Lu}|我是|我叫|\b(?:[Mm]e llamo|[Jj]e m['’]appelle|[Ii]ch hei(?:ß|ss)e|[Mm]i chiamo)\s/u;
const NAME = terms("name");

/** The statements that answer what is asked; for each question in the order in which they were made. */
export function recall({ question, statements }: Conversation): Statement[] {
	const told = statements.map((statement): Told => {
		const { text, words } = statement;
		return { statement, terms: CALLED.test(text) ? [...termsOf(words), ...NAME] : termsOf(words) };
	});
	return [...new Set(questionsIn(question).flatMap((one) => answersTo(one, told)))];
}

/** A statement and what it is about. */
interface Told {
	statement: Statement;
	terms: string[];
}

/** "What is my name and where do I live?" asks two things. */
const questionsIn = (ask: string): string[] =>
	ask.split(/(?<=[?？؟])\s+|,?\s+and\s+(?=(?:what|who|where|when|how|which|why)\b)/i).slice(-MAX_QUESTIONS);

function answersTo(ask: string, told: Told[]): Statement[] {
	const question = ask.replace(POLITE, "");
	const about = persons(words(question), "user");
	// "My cat is called Tom" tells; it is not to be answered with another thing that the user told.
	if (!isQuestion(ask) && about.has("user")) return [];
	const wanted = terms(question).filter((word) => !PRONOUN_TERMS.has(word));
	if (/\bwho (?:am i|are you)\b|名字|llam|appell|hei(?:ß|ss)/i.test(question)) wanted.push(...NAME);
	if (wanted.length === 0) return [];

	const candidates = told.filter(({ statement }) => speaksOf(statement.persons, about));
	const newest = candidates.reduce((most, { statement }) => Math.max(most, statement.turn), 1);
	const documents = candidates.map(({ terms }) => terms);
	const ranked = relevance(wanted, documents, emphasis(question))
		.filter(({ coverage }) => coverage >= ENOUGH)
		.map(({ index, score, matched }) => {
			const { statement } = candidates[index] ?? {};
			const { text = "", role = "user", turn = 0, persons = new Set<Person>() } = statement ?? {};
			let value = score * (1 + (RECENCY * turn) / newest);
			if (role === "assistant") value *= ECHO;
			if (isKindAsked(question, text)) value *= ANSWER_KIND_BONUS;
			// "My name is …" before "A name is …" when the question says "my".
			if (about.size > 0 && persons.size > 0) value *= ANSWER_KIND_BONUS;
			return { index, value, matched };
		})
		.sort((a, b) => b.value - a.value || b.index - a.index);

	const chosen: number[] = [];
	const said = new Set<string>();
	const asked = new Set(wanted).size;
	for (const { index, matched } of ranked) {
		const added = matched.filter((word) => !said.has(word)).length / asked;
		if (chosen.length > 0 && added < ADDS) continue;
		chosen.push(index);
		for (const word of matched) said.add(word);
		if (chosen.length === MAX_STATEMENTS) break;
	}
	return chosen
		.sort((a, b) => a - b)
		.flatMap((index) => candidates[index]?.statement ?? [])
		.sort((a, b) => a.turn - b.turn);
}

/**
 * What a word of the question counts for. The kind that is asked for ("what colour", "how tall") need not be in the
 * answer; a name must: "The capital of Germany" does not answer for France.
 */
function emphasis(question: string): (term: string) => number {
	const kinds = Array.from(question.matchAll(ASKED_KIND), ([, word = ""]) => term(word));
	const named = Array.from(question.matchAll(/(?<=\S\s+)\p{Lu}[\p{L}\p{M}]+/gu), ([word]) => term(word));
	return (word) => (kinds.includes(word) ? KIND_WEIGHT : named.includes(word) ? NAME_WEIGHT : 1);
}

const ASKED_KIND =
	/\b(?:what|which|how)\s+(\p{L}+)(?=\s+(?:is|are|was|were|do|does|did|has|have|will|should|can)\b)/giu;

const PRONOUN_TERMS = new Set(
	terms("my mine i your yours you our we 我 你 我的 你的 mi tu mon ma votre mein dein"),
);

/** "What is your name?" is not answered by "My name is Alice": the persons must meet, unless one side has none. */
const speaksOf = (stated: Set<Person>, about: Set<Person>): boolean =>
	stated.size === 0 || about.size === 0 || [...stated].some((person) => about.has(person));

function isKindAsked(question: string, statement: string): boolean {
	if (
		/^how (?:many|much|old|tall|far|long|big)|^when|^what (?:year|date|time|number)|多少|几|cuánto|combien/i.test(
			question,
		)
	)
		return /\p{N}/u.test(statement);
	if (/^where|哪里|哪儿|dónde|où|^wo\b/i.test(question))
		return /\b(?:in|at|near|on|from|en|à|zu)\b/i.test(statement);
	if (/^who|谁|quién|qui\b|^wer\b/i.test(question)) return /(?<!^)\b\p{Lu}\p{Ll}+/u.test(statement);
	return false;
}
