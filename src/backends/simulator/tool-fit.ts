/** How well a tool fits a piece of text, by the words they share. */
import type { ChatTool } from "../../tasks/text-generation.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import { keyWords } from "./kinds.ts";
import { isStopWord, term, terms } from "./text.ts";

/** What a word in common is worth: in a name, as what a description begins with, in it, in a parameter. */
export const WORTH = { mentioned: 6, name: 3, head: 2, about: 1, parameter: 0.5, verb: 1 };
/** What a word is worth that only goes with another: "umbrella" with "weather". */
const RELATED = 0.6;
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
	named: string[];
	about: string[];
	inputs: Set<string>;
	/** "use the get_weather tool" */
	mentioned: RegExp;
}

export function profile(tool: ChatTool): Profile {
	const { name, description = "", parameters = {} } = tool.function;
	const named = keyWords(name)
		.filter((word) => !isStopWord(word))
		.map(term);
	const spoken = keyWords(name).join(String.raw`[\s_-]*`);
	const properties = typeof parameters.properties === "object" ? (parameters.properties ?? {}) : {};
	return {
		tool,
		named: named.some((word) => !GENERIC.has(word)) ? named.filter((word) => !GENERIC.has(word)) : named,
		// What follows "e.g." are values, not what the tool is about.
		about: telling(description.replace(/\(?\b(?:e\.g\.|for example|such as|like)[^.)]*\)?/gi, " ")),
		inputs: new Set(Object.keys(properties).flatMap((key) => telling(keyWords(key).join(" ")))),
		mentioned: new RegExp(
			String.raw`\b(?:use|call|run|with|using|invoke)\s+(?:the\s+|your\s+)?["'\`]?${spoken}\b|\b${spoken}\s+(?:tool|function)\b`,
			"i",
		),
	};
}

/** A piece of text by its words. */
export interface Reading {
	text: string;
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
	return { text, own, related };
}

/** What the text is worth to the tool; 0 where they share nothing. */
export function worth({ named, about, inputs, mentioned }: Profile, { text, own, related }: Reading): number {
	const value = (word: string): number => {
		const isVerb = VERBS.has(word) && named.length > 1;
		if (named.includes(word)) return isVerb ? WORTH.verb : WORTH.name;
		if (GENERIC.has(word)) return 0;
		if (VERBS.has(word)) return about.includes(word) ? WORTH.parameter : 0;
		if (about[0] === word) return WORTH.head;
		if (about.includes(word)) return WORTH.about;
		return inputs.has(word) ? WORTH.parameter : 0;
	};
	const sum = (words: Set<string>) => [...words].reduce((total, word) => total + value(word), 0);
	return (mentioned.test(text) ? WORTH.mentioned : 0) + sum(own) + RELATED * sum(related);
}
