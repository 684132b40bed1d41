/** How well a tool fits a piece of text, by the words they share. */
import type { ChatTool } from "../../tasks/text-generation.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import { keyWords } from "./kinds.ts";
import { isStopWord, literally, term, terms } from "./text.ts";

/** What a word in common is worth: in a name, as what a description begins with, in it, in a parameter. */
export const WORTH = { mentioned: 6, name: 3, head: 2, about: 1, parameter: 0.5, verb: 1 };
/** What a word is worth that only goes with another: "umbrella" with "weather". */
const RELATED = 0.6;
/** Longer names are not mentioned in a text. */
const MAX_NAME_CHARACTERS = 200;
/** From here a tool is what the text asks for. */
export const ENOUGH = 1.5;

// Words that tools of every kind have.
const GENERIC = new Set(
	terms(
		"get use call do perform return provide tool function api information info data current user given specified name value result detail list show tell give help new based query input string text number type",
	),
);
// Verbs that stories are written and lists are made with, too: they alone do not ask for `write_file`.
const VERBS = new Set(
	terms(
		"create write make add update delete remove read find list open close start stop check change edit save load turn set run execute",
	),
);
const telling = (text: string): string[] => terms(text).filter((word) => !GENERIC.has(word));

const SQL = /\b(?:select\b.{1,500}?\bfrom|insert into|delete from)\b.*$/i;
const GOES_WITH: [RegExp, string][] = [
	[/\b(?:temperature|forecast|rain|snow|sunny|cloudy|umbrella|hot|cold|humid|windy)\w*/i, "weather forecast"],
	[/\b(?:look(?:ing)? up|find|google|search|news|latest)\b/i, "search lookup web"],
	[/\b(?:what time|o'clock|clock)\b/i, "time clock"],
	[/\b(?:price|shares?|stock)\b/i, "price stock quote"],
	[/\b(?:write to|notify|mail)\b/i, "send message email"],
	[
		/\bremind me (?:to|about|at|on|in)\b|\b(?:reminder|appointment|meeting)\b/i,
		"reminder schedule calendar event",
	],
	[SQL, "sql database"],
	[/(?<![\w@])[\w-]+\.(?:txt|md|json|csv|ya?ml|[jt]sx?|py|html|css|log)\b/i, "file path"],
	[/天气|气温|погода|clima|tiempo|météo|wetter|tempo/i, "weather"],
];

/** A tool by its words. */
export interface Profile {
	tool: ChatTool;
	named: Set<string>;
	/** What its description begins with. */
	head: string | undefined;
	about: Set<string>;
	inputs: Set<string>;
	/** The words of its name. */
	spoken: string[];
}

export function profile(tool: ChatTool): Profile {
	const { name, description = "", parameters = {} } = tool.function;
	const named = keyWords(name)
		.filter((word) => !isStopWord(word))
		.map(term);
	// What follows "e.g." are values, not what the tool is about.
	const about = telling(description.replace(/\(?\b(?:e\.g\.|for example|such as|like)[^.)]*\)?/gi, " "));
	const properties = typeof parameters.properties === "object" ? (parameters.properties ?? {}) : {};
	return {
		tool,
		named: new Set(
			named.some((word) => !GENERIC.has(word)) ? named.filter((word) => !GENERIC.has(word)) : named,
		),
		head: about[0],
		about: new Set(about),
		inputs: new Set(Object.keys(properties).flatMap((key) => telling(keyWords(key).join(" ")))),
		spoken: name.length > MAX_NAME_CHARACTERS ? [] : keyWords(name),
	};
}

const ARITHMETIC = terms("calculate add subtract multiply divide");

/** Whether the tool does sums, by its words. */
export const computes = ({ named, about }: Profile): boolean =>
	ARITHMETIC.some((word) => named.has(word) || about.has(word));

/** A piece of text by its words. */
export interface Reading {
	text: string;
	lowered: string;
	own: Set<string>;
	/** What goes with them. */
	related: Set<string>;
}

export function reading(text: string): Reading {
	// The words of a statement in SQL are not about users, orders and files.
	const own = new Set(terms(text.replace(SQL, " ")));
	const related = new Set(
		[
			...operationsIn(text),
			...(expressionIn(text) === undefined ? [] : ["calculate", "arithmetic", "evaluate"]),
			...GOES_WITH.filter(([pattern]) => pattern.test(text)).flatMap(([, words]) => words.split(" ")),
		]
			.map(term)
			.filter((word) => !own.has(word)),
	);
	return { text, lowered: text.toLowerCase(), own, related };
}

/** What the text is worth to the tool; 0 where they share nothing. */
export function worth(profile: Profile, read: Reading): number {
	const { named, head, about, inputs } = profile;
	const value = (word: string): number => {
		const isVerb = VERBS.has(word) && named.size > 1;
		if (named.has(word)) return isVerb ? WORTH.verb : WORTH.name;
		if (GENERIC.has(word)) return 0;
		if (VERBS.has(word)) return about.has(word) ? WORTH.parameter : 0;
		if (head === word) return WORTH.head;
		if (about.has(word)) return WORTH.about;
		return inputs.has(word) ? WORTH.parameter : 0;
	};
	const sum = (words: Set<string>) => [...words].reduce((total, word) => total + value(word), 0);
	return (isMentioned(profile, read) ? WORTH.mentioned : 0) + sum(read.own) + RELATED * sum(read.related);
}

/** "use the get_weather tool" */
function isMentioned({ spoken }: Profile, { text, lowered }: Reading): boolean {
	// Most tools are not, and an expression takes long to make.
	if (spoken.length === 0 || !spoken.every((word) => lowered.includes(word))) return false;
	const name = spoken.map(literally).join(String.raw`[\s_-]*`);
	return new RegExp(
		String.raw`\b(?:use|call|run|with|using|invoke)\s+(?:the\s+|your\s+)?["'\`]?${name}\b|\b${name}\s+(?:tool|function)\b`,
		"i",
	).test(text);
}
