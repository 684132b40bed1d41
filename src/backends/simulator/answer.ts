/**
 * What the simulator says to a chat. It has no weights: it repeats what it is told to repeat, sums up what it is given,
 * and otherwise quotes the statements of the conversation that share the most with the question. Where none shares
 * enough it says what it is and what it was asked.
 */
import { relevance } from "./bm25.ts";
import { type Conversation, isQuestion, SIMULATOR, type Statement } from "./conversation.ts";
import { type Person, persons, sayBack } from "./person.ts";
import { summarize } from "./summarization.ts";
import { terms, termsOf, within, words } from "./text.ts";

/** Share of the question's weight that a statement must have. */
const ENOUGH = 0.4;
/** Share that a further statement must add to what is said already. */
const ADDS = 0.2;
const MAX_STATEMENTS = 3;
/** What the newest turn is worth above the oldest. */
const RECENCY = 0.2;
/** What statements by the model itself are worth: the source is better than its echo. */
const ECHO = 0.8;
const ANSWER_KIND_BONUS = 1.15;
const SUMMARY_TOKENS = 120;
/** Characters of the question that the fallback repeats. */
const MAX_QUOTED = 300;

const POLITE =
	/^(?:(?:please|hey|hi|hello|ok|so|and|now|well)[\s,]+)*(?:(?:can|could|would|will) you (?:please )?(?:tell|remind|give|show) me\s*|do you (?:know|remember|recall)\s*|(?:tell|remind|give|show) me\s*|i(?:'d| would) (?:like|want) to know\s*)?/i;

export interface Said {
	text: string;
	/** One sentence on how it was found, for models that show their reasoning. */
	because: string;
}

export function answer(conversation: Conversation, modelId: string): Said {
	const { ask } = conversation;
	const repeated = toRepeat(ask);
	if (repeated !== undefined)
		return { text: repeated, because: "The user says what to reply, so I repeat it." };

	if (/\bsummar|\btl;?dr\b/i.test(ask)) {
		const given = materialOf(conversation);
		if (given.trim())
			return {
				text: summarize(given, SUMMARY_TOKENS),
				because: "The user wants a summary, so I take the sentences that the others share most with.",
			};
	}

	const found = questionsIn(ask).flatMap((question) => recall(question, conversation));
	if (found.length > 0)
		return {
			text: [...new Set(found)].map(({ text, role }) => sayBack(text, role)).join(" "),
			because: `I looked through ${count(conversation.statements.length, "statement")} of the conversation and quote ${found.length} that the question shares its words with.`,
		};

	const asked = within(ask, MAX_QUOTED);
	return {
		text: `I am ${SIMULATOR} standing in for ${modelId}; no engine serves it. ${asked ? `You asked: ${asked}` : "You asked nothing."}`,
		because: "Nothing in the conversation answers this, so I say what I am.",
	};
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

const MARKED = "following|single|word|words|phrase|text|sentence|message|token";
const REPEAT = new RegExp(
	String.raw`^(?:please\s+)?(?:(?:just|only)\s+)?(?:(?<any>say|repeat|echo)|(?:reply|respond|answer)\s+(?<exact>(?:only\s+|just\s+|exactly\s+)*with)|(?:output|print|write|return|reply|respond|answer))\b\s*(?<marks>(?:(?:back|after me|exactly|only|just|nothing but|(?:the|this)(?=\s+(?:${MARKED}))|${MARKED})\b\s*)*:?)\s*(?<rest>[\s\S]+)$`,
	"i",
);

/** What "Say …", "Repeat …", "Reply with exactly …" want to hear. Other orders only where the words are in quotes. */
function toRepeat(ask: string): string | undefined {
	const { any, exact, marks = "", rest = "" } = REPEAT.exec(ask.trim())?.groups ?? {};
	const wanted = rest.trim();
	const quoted = /^["“«'`]([\s\S]+?)["”»'`](?=[\s.,;!?]|$)/.exec(wanted)?.[1];
	if (quoted !== undefined) return quoted;
	const literal = /exactly|only|just|word|phrase|following|nothing but|:\s*$/i.test(
		`${exact ?? ""} ${marks}`,
	);
	if (any !== undefined || literal) {
		const said = wanted.replace(/(?<=[\p{L}\p{N}])\.$/u, "");
		return said !== "" && !/\?$/.test(said) ? said : undefined;
	}
	return undefined;
}

/** The text to sum up: what the last message brings beside its request; else all that was said before. */
function materialOf({ lastMessage, ask, turns }: Conversation): string {
	const inline = /^[^:\n]{0,80}[:\n]([\s\S]+)$/.exec(ask)?.[1] ?? "";
	const given = `${inline} ${lastMessage.replace(ask, "")}`.trim();
	if (words(given).length > 8) return given;
	return turns
		.filter(({ role, text }) => role !== "system" && role !== "developer" && text.trim() !== lastMessage)
		.map(({ text }) => text)
		.join("\n");
}

const CALLED =
	/\b(?:[Ii] am|[Ii]['’]?m|[Cc]all me|[Tt]his is|[Yy]ou are|[Yy]ou['’]re)\s+(?:called\s+)?\p{Lu}|我是|我叫|\b(?:[Mm]e llamo|[Jj]e m['’]appelle|[Ii]ch hei(?:ß|ss)e|[Mm]i chiamo)\s/u;
const NAME = terms("name");

/** "What is my name and where do I live?" asks two things. */
const questionsIn = (ask: string): string[] =>
	ask.split(/(?<=[?？؟])\s+|,?\s+and\s+(?=(?:what|who|where|when|how|which|why)\b)/i);

/** Statements that answer the question, in the order in which they were made. */
function recall(ask: string, { statements }: Conversation): Statement[] {
	const question = ask.replace(POLITE, "");
	const about = persons(words(question), "user");
	// "My cat is called Tom" tells; it is not to be answered with another thing that the user told.
	if (!isQuestion(ask) && about.has("user")) return [];
	const wanted = terms(question).filter((word) => !PRONOUN_TERMS.has(word));
	if (/\bwho (?:am i|are you)\b|名字|llam|appell|hei(?:ß|ss)/i.test(question)) wanted.push(...NAME);
	if (wanted.length === 0) return [];

	const candidates = statements.filter((statement) => speaksOf(statement.persons, about));
	const documents = candidates.map(({ text, words }) =>
		CALLED.test(text) ? [...termsOf(words), ...NAME] : termsOf(words),
	);
	const newest = Math.max(1, ...candidates.map(({ turn }) => turn));
	const ranked = relevance(wanted, documents)
		.filter(({ coverage }) => coverage >= ENOUGH)
		.map(({ index, score, matched }) => {
			const statement = candidates[index];
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
	const place = new Map(statements.map((statement, index) => [statement, index]));
	return chosen
		.flatMap((index) => candidates[index] ?? [])
		.sort((a, b) => a.turn - b.turn || (place.get(a) ?? 0) - (place.get(b) ?? 0));
}

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
