/** How well a tool fits a piece of text, by the words they share. */
import type { ChatTool } from "../../tasks/text-generation.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import { keyWords } from "./kinds.ts";
import { term, terms } from "./text.ts";

/** What a word in common is worth: in a name, as what a description begins with, in it, in a parameter. */
export const WORTH = { mentioned: 6, name: 3, head: 2, about: 1, parameter: 0.5 };
/** What a word is worth that only goes with another: "umbrella" with "weather". */
const RELATED = 0.6;
/** From here a tool is what the text asks for. */
export const ENOUGH = 1.5;

// Words that tools of every kind have.
const GENERIC = new Set(
	terms(
		"get set use call run make do perform execute return provide tool function api information info data current user given specified name value result detail list show tell give help new based query input string text number type",
	),
);
const telling = (text: string): string[] => terms(text).filter((word) => !GENERIC.has(word));

const GOES_WITH: [RegExp, string][] = [
	[/\b(?:temperature|forecast|rain|snow|sunny|cloudy|umbrella|hot|cold|humid|windy)\w*/i, "weather forecast"],
	[/\b(?:look(?:ing)? up|find|google|search|news|latest)\b/i, "search lookup web"],
	[/\b(?:what time|o'clock|clock)\b/i, "time clock"],
	[/\b(?:price|shares?|stock)\b/i, "price stock quote"],
	[/\b(?:write to|notify|mail)\b/i, "send message email"],
	[/\b(?:remind|reminder|appointment|meeting)\b/i, "reminder schedule calendar event"],
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
	const spoken = keyWords(name).join(String.raw`[\s_-]*`);
	const properties = typeof parameters.properties === "object" ? (parameters.properties ?? {}) : {};
	return {
		tool,
		named: keyWords(name)
			.map(term)
			.filter((word) => !GENERIC.has(word)),
		// What follows "e.g." are values, not what the tool is about.
		about: telling(description.replace(/\(?\b(?:e\.g\.|for example|such as|like)[^.)]*\)?/gi, " ")),
		inputs: new Set(Object.keys(properties).flatMap((key) => telling(keyWords(key).join(" ")))),
		mentioned: new RegExp(
			String.raw`\b(?:use|call|run|with|using|invoke)\s+(?:the\s+|your\s+)?["'\`]?${spoken}\b|\b${spoken}\s+(?:tool|function)\b`,
			"i",
		),
	};
}

/** What the text is worth to the tool; 0 where they share nothing. */
export function worth({ named, about, inputs, mentioned }: Profile, text: string): number {
	const own = new Set(telling(text));
	const related = new Set(
		[
			...operationsIn(text),
			...(expressionIn(text) === undefined ? [] : ["calculate", "arithmetic", "evaluate"]),
			...GOES_WITH.filter(([pattern]) => pattern.test(text)).flatMap(([, words]) => words.split(" ")),
		]
			.map(term)
			.filter((word) => !own.has(word)),
	);
	const value = (word: string): number => {
		if (named.includes(word)) return WORTH.name;
		if (about[0] === word) return WORTH.head;
		if (about.includes(word)) return WORTH.about;
		return inputs.has(word) ? WORTH.parameter : 0;
	};
	const sum = (words: Set<string>) => [...words].reduce((total, word) => total + value(word), 0);
	return (mentioned.test(text) ? WORTH.mentioned : 0) + sum(own) + RELATED * sum(related);
}
