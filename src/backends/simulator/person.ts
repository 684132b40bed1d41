/**
 * Who a sentence speaks of. "I" in the user's mouth and "you" in the model's are one person; so are "you" in the
 * system prompt and "I" in the model's reply. Questions and statements are compared after that is settled.
 */
import type { ChatMessage } from "../../tasks/text-generation.ts";
import { fold, words } from "./text.ts";

export type Role = ChatMessage["role"];
export type Person = "user" | "model";

const list = (text: string): Set<string> => new Set(text.split(" "));
const FIRST = list(
	"i me my mine myself we our ours us mi mis yo je j mon ma mes moi ich mein meine meinen mir mich mio mia minha meu 我 我的 我们 私 僕 俺",
);
const SECOND = list(
	"you your yours yourself tu tus te vous votre vos ton ta du dein deine dir dich ihr tuo tua seu sua 你 你的 您 您的 あなた",
);

/** The persons that these words speak of in this role's mouth; none for third persons and for tools. */
export function persons(words: readonly string[], role: Role): Set<Person> {
	const found = new Set<Person>();
	if (role === "tool") return found;
	const speaker: Person = role === "assistant" ? "model" : "user";
	const spokenTo: Person = role === "assistant" ? "user" : "model";
	for (const word of words) {
		const folded = fold(word);
		// A system prompt has no "I" of its own.
		if (FIRST.has(folded) && role !== "system" && role !== "developer") found.add(speaker);
		else if (SECOND.has(folded)) found.add(spokenTo);
	}
	return found;
}

const fromUser = {
	"you are": "I am",
	"you're": "I am",
	"am i": "are you",
	"i am": "you are",
	"i'm": "you are",
	"i was": "you were",
	"i've": "you have",
	"i'll": "you will",
	"i'd": "you would",
	"we're": "you are",
	i: "you",
	me: "you",
	my: "your",
	mine: "yours",
	myself: "yourself",
	we: "you",
	us: "you",
	our: "your",
	ours: "yours",
	ourselves: "yourselves",
	you: "me",
	your: "my",
	yours: "mine",
	yourself: "myself",
};
const fromSystem = {
	"you are": "I am",
	"you're": "I am",
	"are you": "am I",
	you: "I",
	your: "my",
	yours: "mine",
	yourself: "myself",
	"the user is": "you are",
	"the user's": "your",
	"the user": "you",
};
// "World War I" and "the US" are no persons.
const NO_PERSON = /^US$/;
const NUMERAL_REACH = 12;
const BEFORE_NUMERAL = /\b(?:War|Part|Chapter|Type|Phase|Class|Book|Volume|Act|Section|Stage|Elizabeth)\s$/;

function turn(said: string, table: Record<string, string>): string {
	const keys = Object.keys(table).sort((a, b) => b.length - a.length);
	return said.replace(new RegExp(`\\b(?:${keys.join("|")})\\b`, "gi"), (found, place: number) => {
		if (
			NO_PERSON.test(found) ||
			(found === "I" && BEFORE_NUMERAL.test(said.slice(Math.max(0, place - NUMERAL_REACH), place)))
		)
			return found;
		// The only "you" that is surely a subject; any other is more often an object.
		if (place === 0 && found.toLowerCase() === "you") return "I";
		return table[found.toLowerCase()] ?? found;
	});
}

// Small words that only other languages have: "Me llamo Alicia" holds an English "me", and must not be turned.
const NOT_ENGLISH = list(
	"el los las una uno yo mi mis llamo soy tengo vivo gusta je j mon ma mes moi suis habite appelle ich mein meine bin heiße wohne io sono ho mio mia eu meu minha sou",
);

const LEADS =
	/^(?:(?:hi|hello|hey|well|so|ok|okay|actually|by the way|btw|fyi|also|no|yes|sorry|please)\b[\s,!.:]*|(?:please\s+)?(?:remember|note)(?:\s+that\b)?[\s,:]*)+(?=\S)/i;

/** A statement of the conversation as the model says it back: "My name is Alice" becomes "Your name is Alice." */
export function sayBack(statement: string, role: Role): string {
	let said = statement.trim();
	if (role === "user") said = said.replace(LEADS, "");
	said = said.replaceAll("’", "'");
	const english = !words(said).some((word) => NOT_ENGLISH.has(word));
	if (role === "user") said = (english ? turn(said, fromUser) : said).replace(/我们|我/g, "你");
	if (role === "system" || role === "developer") said = turn(said, fromSystem);
	said = said.charAt(0).toUpperCase() + said.slice(1);
	return /[.!?…。！？؟।"”»)\]}]$/.test(said) ? said : `${said.replace(/[,;:]$/, "")}.`;
}
