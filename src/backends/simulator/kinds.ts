/** What a property wants to hold, guessed from its name and its description, and where such things stand in a text. */
import { expressionIn } from "./expression.ts";
import { after, dates, emails, identifiers, names, numbers, phones, quoted, times, urls } from "./phrases.ts";
import { fold, words } from "./text.ts";

/** A property: its name, and what its schema says about it. */
export interface Hint {
	key: string;
	about: string;
}

export interface Kind {
	/** Words of property names, and of descriptions where the name says nothing. */
	says: Set<string>;
	/** Values in the text, the likeliest first. */
	find(text: string, hint: Hint, now: number): string[];
	/** Whether `find` reads the hint's description. */
	readsAbout?: true;
	/** Whether a description that has one of the words does not say the kind: everything has a name or a text. */
	vague?: true;
	/** What to take for a property that must be there and that nothing was found for. */
	guess?(text: string): string[];
}

const list = (text: string): Set<string> => new Set(text.split(" "));
const values = (phrases: { value: string }[]): string[] => phrases.map(({ value }) => value);

/** A property's name in words: `fromCity`, `from_city` and `from-city` are "from city". */
export const keyWords = (key: string): string[] =>
	words(key.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").replace(/[_\-.]/g, " ")).map(fold);

const UNITS =
	/(?<![\p{L}\p{N}])(?:°\s?[CF]|celsius|fahrenheit|kelvin|metric|imperial|kilomet(?:er|re)s?|met(?:er|re)s?|centimet(?:er|re)s?|miles?|feet|foot|inch(?:es)?|yards?|kilograms?|grams?|pounds?|ounces?|lit(?:er|re)s?|gallons?|km|cm|mm|kg|lbs?|oz|mph|seconds?|minutes?|hours?|days?|weeks?)(?![\p{L}\p{N}])/giu;
const CURRENCIES =
	/(?<![\p{L}\p{N}])(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR|BRL|MXN|SEK|NOK|DKK|PLN|KRW|TRY|ZAR|BTC|ETH|dollars?|euros?|yen|pounds?)(?![\p{L}\p{N}])/giu;
const LANGUAGES =
	/(?<![\p{L}\p{N}])(?:English|Spanish|French|German|Italian|Portuguese|Dutch|Russian|Chinese|Mandarin|Japanese|Korean|Arabic|Hindi|Turkish|Polish|Greek|Swedish|Danish|Norwegian|Finnish|Hebrew|Thai|Vietnamese|Ukrainian|Latin)(?![\p{L}\p{N}])/giu;

const matches = (text: string, pattern: RegExp): string[] => text.match(pattern) ?? [];

/** What follows "saying", "that says" or a colon. */
const spoken = (text: string): string[] => {
	const said =
		/\b(?:saying|that says|says|which says|with the (?:message|text|body|content)|telling (?:him|her|them) that)(?:\s*[:,])?\s+(.+)$/isu.exec(
			text,
		) ??
		/\b(?:send|write|say|tell|post|message|text|reply|note|comment|save|remember)\b[^:\n]{0,80}:\s+(\S.*)$/isu.exec(
			text,
		);
	return said?.[1] ? [said[1].replace(/^that\s+/i, "").trim()] : [];
};

const REQUEST =
	/^(?:(?:please|hey|hi|hello|can you|could you|would you|will you|i want to|i want you to|i need to|i'd like to|help me|let's)[\s,]+)*(?:(?:search|look|google|browse|find|fetch|get|give|show|tell|list|check|retrieve|query|research|explain|read|write)\b(?:\s+(?:me|us|up|out|for|about|on|the web|the internet|online|the docs|documents?|information|info|everything|all|some))*\s+)?(?:(?:what|who|where|when|why|how|which)(?:['’]s| is| are| was| were| do| does| did)?\s+)?(?:(?:the|a|an)\s+)?/i;

/** A request without its verb: "Search the web for cheap flights" is about "cheap flights". */
export const topicOf = (text: string): string => {
	const wanted = text.trim().replace(/(?<![?!.\s])[?!.\s]+$/, "");
	const searched =
		/\b(?:search(?:es|ing)?|look(?:ing)?(?: it)? up|google|find|information|docs?|documents?|news|articles?)\b[^.?!\n]{0,80}?\b(?:for|about|on)\s+(?=\S)/i.exec(
			wanted,
		);
	const topic = searched ? wanted.slice(searched.index + searched[0].length) : wanted.replace(REQUEST, "");
	return topic.trim() || wanted;
};

const PLACE_WORDS = "in|at|for|of|near|around|to|from|within|visiting|visit";
const han = (text: string): string[] => {
	const place = /([\p{Script=Han}]{2,8}?)(?:今天|明天|现在|昨天)?的/u.exec(text)?.[1];
	return place ? [place.replace(/^(?:今天|明天|现在|请问|告诉我|查询|查一下)+/, "")] : [];
};

export const KINDS: Record<string, Kind> = {
	email: { says: list("email mail mailbox"), find: (text) => values(emails(text)) },
	url: { says: list("url urls uri link href website webpage"), find: (text) => values(urls(text)) },
	phone: { says: list("phone telephone mobile fax"), find: (text) => values(phones(text)) },
	expression: {
		says: list("expression expr formula equation calculation calc math arithmetic"),
		find: (text) => [expressionIn(text) ?? ""].filter(Boolean),
	},
	date: {
		readsAbout: true,
		says: list("date day when deadline due birthday birthdate dob date_time datetime"),
		find: (text, { about }, now) =>
			dates(text, now).map(({ value, iso }) => (/yyyy|iso[\s-]?8601/i.test(about) ? iso : value)),
	},
	time: {
		says: list("time hour clock"),
		find: (text, _hint, now) => [...values(times(text)), ...values(dates(text, now))],
	},
	timezone: {
		says: list("timezone tz zone"),
		find: (text) => [
			...matches(text, /\b[A-Z][a-z]+\/[A-Z][A-Za-z_]+\b|\bUTC\b|\bGMT\b/g),
			...values(after(text, PLACE_WORDS)),
		],
	},
	unit: { says: list("unit units scale"), find: (text) => matches(text, UNITS) },
	currency: { says: list("currency currencies"), find: (text) => matches(text, CURRENCIES) },
	language: { says: list("language lang locale"), find: (text) => matches(text, LANGUAGES) },
	origin: {
		vague: true,
		says: list("origin from departure depart start source"),
		find: (text) => values(after(text, "from")),
	},
	recipient: {
		vague: true,
		says: list("to recipient recipients receiver addressee"),
		find: (text) => [...values(emails(text)), ...values(after(text, "to|into"))],
	},
	destination: {
		vague: true,
		says: list("destination arrival arrive target"),
		find: (text) => values(after(text, "to|into|for")),
	},
	place: {
		says: list("city location place town country region state area venue where village room"),
		find: (text) => [...values(after(text, PLACE_WORDS)), ...han(text), ...values(names(text))],
	},
	address: {
		says: list("address street"),
		find: (text) => [
			...matches(
				text,
				/\b\d{1,6}\s+\p{Lu}[\p{L}\p{M}.'’-]*(?:\s+\p{Lu}[\p{L}\p{M}.'’-]*){0,4}(?:,\s*\p{Lu}[\p{L}\p{M}'’-]*(?:\s\p{Lu}[\p{L}\p{M}'’-]*)?){0,3}/gu,
			),
			...values(after(text, PLACE_WORDS)),
		],
	},
	code: {
		says: list("sql command script statement code"),
		vague: true,
		find: (text) => [
			...matches(text, /(?<=`)[^`]+(?=`)/g),
			...matches(text, /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH)\s[^;\n]+/g),
			...values(quoted(text)),
			...matches(text, /(?<=\b(?:run|execute|command)\s+(?:the\s+)?(?:command\s+)?)\S.*/gi),
		],
	},
	id: {
		vague: true,
		says: list("id identifier uuid sku reference ref ticket number no"),
		find: (text) => [...values(identifiers(text)), ...values(numbers(text))],
	},
	path: {
		vague: true,
		says: list("path file filename filepath directory folder"),
		find: (text) => [
			...matches(
				text,
				/(?<![\w/.@])(?:~|\.{1,2})?\/?[\w.-]{1,64}(?:\/[\w.-]{1,64}){0,12}\.[a-z][a-z0-9]{0,5}\b(?!@)/g,
			),
			...matches(text, /(?<![\w/.@:])(?:~|\.{1,2})?\/[\w.-]{1,64}(?:\/[\w.-]{1,64}){0,12}/g),
		],
	},
	title: {
		vague: true,
		says: list("title headline heading label"),
		find: (text) => [
			...matches(
				text,
				/(?<=\b(?:titled|called|named|entitled)\s+)["“']?[\p{L}\p{N}][^"”',.?!\n]{0,80}/gu,
			).map((found) => found.replace(/^["“']/, "").trim()),
			...values(quoted(text)),
		],
	},
	message: {
		vague: true,
		says: list(
			"message body content text note comment caption input sentence paragraph reply description details summary reason story",
		),
		find: (text) => [...values(quoted(text)), ...spoken(text)],
	},
	query: {
		says: list("query q search keyword keywords topic subject question prompt"),
		find: (text) => values(quoted(text)),
		guess: (text) => [topicOf(text)],
	},
	person: {
		vague: true,
		says: list(
			"name person who user username author customer contact attendee participant people artist company organization organisation team character employee player patient guest client brand symbol ticker",
		),
		find: (text) => [
			...values(after(text, "named|called")).filter((value) => /^\p{Lu}/u.test(value)),
			...values(names(text)),
		],
	},
};

/** The kind that the name of the property says, else (`byDescription`) its description; undefined where neither does. */
export function kindOf({ key, about }: Hint, byDescription: boolean): Kind | undefined {
	const named = keyWords(key);
	// The last word of a name is what it is: `email_subject` is a subject.
	for (const word of [...named].reverse()) {
		const kind = Object.values(KINDS).find(({ says }) => says.has(word) || says.has(word.replace(/s$/, "")));
		if (kind) {
			// `from_city`, `destination_city`: which one matters more than what.
			const role = named.map((other) => (kind === KINDS.place ? DIRECTIONS[other] : undefined)).find(Boolean);
			return role ?? kind;
		}
	}
	if (!byDescription) return undefined;
	const described = words(about).map(fold);
	return Object.values(KINDS).find(({ says, vague }) => !vague && described.some((word) => says.has(word)));
}

const DIRECTIONS: Record<string, Kind | undefined> = {
	from: KINDS.origin,
	origin: KINDS.origin,
	departure: KINDS.origin,
	source: KINDS.origin,
	to: KINDS.destination,
	destination: KINDS.destination,
	arrival: KINDS.destination,
};
