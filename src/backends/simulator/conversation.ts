/** A chat as the simulator reads it: what is asked, and the statements that may answer it. */
import { type ChatInput, textOf } from "../../tasks/text-generation.ts";
import { type Person, persons, type Role } from "./person.ts";
import { legible, sentences, within, words, workOf } from "./text.ts";

/** Work spent on reading a conversation (see `workOf`), newest first; the rest counts as tokens only. */
const MAX_WORK = 200_000;
/** What is compared with every statement. */
const MAX_QUESTION_CHARACTERS = 2_000;
/** A last message of at most so many sentences is asked as a whole; of a longer one, the question in it. */
const WHOLE_SENTENCES = 2;
/** Every fallback of ours holds it, so that what we said about ourselves is never an answer. */
export const SIMULATOR = "Ganglion's simulator";

export interface Statement {
	text: string;
	words: string[];
	role: Role;
	/** Place of the message: later ones correct earlier ones. */
	turn: number;
	persons: Set<Person>;
}

export interface Turn {
	role: Role;
	text: string;
}

export interface Conversation {
	/** Oldest first; their texts are {@link legible}, and empty where there was no more time to read them. */
	turns: Turn[];
	/** Text of the last message of the user; of the last at all where the user has none. */
	lastMessage: string;
	/** The part of it that asks. */
	ask: string;
	/** Its beginning and its end, where it is long. */
	question: string;
	/** Everything said but what asks. */
	statements: Statement[];
}

// The marks of chat templates, which a raw prompt brings along.
const TEMPLATE_MARKS =
	/<\|[^|>]{1,40}\|>(?:\s*(?:system|user|assistant)\b\n?)?|\[\/?INST\]|<<\/?SYS>>|<\/?s>|<(?:start|end)_of_turn>(?:user|model)?/g;

const LABEL = /^(?:#+\s*)?(?:\*\*)?(?:question|query|user|q|human|ask)(?:\*\*)?\s*[:：]\s*/i;
const PASSAGE_MARK =
	/^(?:<[^>]{1,60}>\s*|(?:[-*•]|\[\d+\]|\d+[.)])\s+|(?:context|passage|document|source|text|facts?|notes?|answer|a|assistant)(?:\s*\d+)?\s*[:：]\s*)+/i;
const QUESTION_MARK = /[?？؟]["”»)\]]*$/;
const QUESTION_START =
	/^(?:please\s+)?(?:who|whom|whose|what|what's|which|when|where|why|how|is|are|was|were|do|does|did|can|could|would|will|should|tell|list|name|give|explain|describe|find|show|summari[sz]e|translate|define|compute|calculate|quién|qué|cuál|cómo|cuándo|dónde|cuánto|quel|quelle|qui|où|quand|comment|combien|pourquoi|wer|wie|wo|wann|warum|welche[rs]?|chi|dove|quando|come|perché|quem|onde|qual)\b/i;
const QUESTION_WORDS =
	/什么|谁|哪|怎么|为什么|多少|吗$|呢$|何|誰|どこ|いつ|ですか|هل|ما هو|من هو|أين|متى|क्या|कौन|कहाँ/u;

// What wants something says nothing: "Tell me a secret number" is no answer to "What is the secret number?". Narrow on
// purpose: "Tell Bob that …", "Note that …" and "When I was ten …" do say something.
const ASKS_WITHOUT_MARK = new RegExp(
	[
		String.raw`(?:what|who|whom|whose|where|when|why|how)(?:['’]s|['’]re|\s+(?:is|are|was|were|am|do|does|did|can|could|would|will|should|has|have|many|much|old|tall|far|long))\b`,
		String.raw`(?:is|are|was|were|am|do|does|did|can|could|would|will|should|may)\s+(?:i|you|we|they|he|she|it|there|my|your|our)\b`,
		String.raw`(?:tell|give|show|send|find|get|write|read|sing|teach|make|explain|help|ask|remind|recommend|suggest|bring|pick|choose|guess|draw)(?:\s+to)?\s+(?:me|us)\b`,
		String.raw`i(?:['’]d|\s+would)?\s+(?:want|like|need)\s+you\s+to\b`,
	]
		.map((start) => `^(?:(?:please|now|so|ok|okay|and|then|hi|hello|hey)[\\s,]+)*${start}`)
		.join("|"),
	"i",
);
/** A whole message of this kind is an order; a sentence of a manual may begin like one. */
const ORDER =
	/^(?:please\s+)?(?:(?:explain|describe|summari[sz]e|translate|define|compute|calculate|generate|recommend|suggest)\s|(?:tell|list|give|show|say|guess|think of|pick|choose|invent|make up|write|draw|name)\s+(?:an?|the|some|any|all|your|my|every|\d+|one|two|three|four|five|ten)\s)/i;

const wants = (sentence: string, isWhole: boolean): boolean =>
	ASKS_WITHOUT_MARK.test(sentence) || (isWhole && ORDER.test(sentence));

export const isQuestion = (text: string): boolean =>
	QUESTION_MARK.test(text) || QUESTION_START.test(text) || QUESTION_WORDS.test(text);

/** A sentence without the marks of a list, a label or a tag around it. */
const bare = (sentence: string): string =>
	sentence
		.replace(PASSAGE_MARK, "")
		.replace(/<\/[^>]{1,60}>$/, "")
		.trim();

export function read({ messages, prompt }: ChatInput): Conversation {
	const turns = readable(
		prompt === undefined
			? messages.map(({ role, content }) => ({ role, text: legible(textOf(content)) }))
			: [{ role: "user", text: legible(prompt).replace(TEMPLATE_MARKS, "\n") }],
	);
	let last = turns.findLastIndex(({ role, text }) => role === "user" && text.trim() !== "");
	if (last < 0) last = turns.findLastIndex(({ text }) => text.trim() !== "");

	const statements: Statement[] = [];
	let ask = "";
	for (const [turn, { role, text }] of [...turns.entries()].reverse()) {
		if (role === "assistant" && text.includes(SIMULATOR)) continue;
		const said = role === "tool" ? spelledOut(text).split("\n").flatMap(sentences) : sentences(text);
		const asking = turn === last ? asked(said) : undefined;
		if (asking) ask = said.slice(asking.from, asking.to).join(" ").replace(LABEL, "").trim();
		said.forEach((sentence, place) => {
			if (asking && place >= asking.from && place < asking.to) return;
			const text = role === "tool" ? sentence : bare(sentence);
			if (QUESTION_MARK.test(text)) return;
			if ((role === "user" || role === "assistant") && wants(text, said.length === 1)) return;
			const spoken = words(text);
			if (spoken.length > 1)
				statements.push({ text, words: spoken, role, turn, persons: persons(spoken, role) });
		});
	}
	return {
		turns,
		lastMessage: turns[last]?.text.trim() ?? "",
		ask,
		question: within(ask, MAX_QUESTION_CHARACTERS),
		statements,
	};
}

/** As much of the turns as there is time for. */
function readable(turns: Turn[]): Turn[] {
	let left = MAX_WORK;
	return turns
		.map(({ role, text }) => ({ role, text, work: workOf(text) }))
		.reverse()
		.map(({ role, text, work }) => {
			const share = Math.min(work, left);
			left -= share;
			return { role, text: share === 0 ? "" : within(text, Math.floor((text.length * share) / work)) };
		})
		.reverse();
}

/** The sentences that ask: the last run of questions; else the whole of a short message, or its last sentence. */
function asked(said: string[]): { from: number; to: number } {
	const end = said.findLastIndex((sentence) => isQuestion(sentence.replace(LABEL, "")));
	const to = end < 0 ? said.length : end + 1;
	if (end < 0 || (said.length <= WHOLE_SENTENCES && !said.some((sentence) => QUESTION_MARK.test(sentence))))
		return { from: said.length <= WHOLE_SENTENCES ? 0 : said.length - 1, to: said.length };
	let from = end;
	while (from > 0 && QUESTION_MARK.test(said[from] ?? "") && QUESTION_MARK.test(said[from - 1] ?? "")) from--;
	return { from, to };
}

/** JSON as lines of `name: value`, so that a tool's result can be quoted; other text as it is. */
export function spelledOut(text: string): string {
	const trimmed = text.trim();
	if (!/^[{[]/.test(trimmed)) return text;
	try {
		const lines: string[] = [];
		collect(JSON.parse(trimmed), "", lines);
		return lines.join("\n");
	} catch {
		return text;
	}
}

/** Levels of a tool's result that are read; below, JSON as it is. */
const MAX_DEPTH = 8;

function collect(value: unknown, name: string, lines: string[], depth = 0): void {
	if (typeof value === "object" && value !== null && depth < MAX_DEPTH)
		for (const [key, inner] of Object.entries(value))
			collect(inner, Array.isArray(value) ? name : key, lines, depth + 1);
	else
		lines.push(
			name ? `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}` : String(value),
		);
}
