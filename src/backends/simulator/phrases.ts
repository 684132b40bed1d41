/** The things that arguments are made of, as they stand in a text: names, places, numbers, dates, addresses. */
import { numberWord } from "./expression.ts";
import { fold, isStopWord } from "./text.ts";

/** A piece of a text and where it begins. */
export interface Phrase {
	value: string;
	index: number;
}

const all = (text: string, pattern: RegExp, group = 0): Phrase[] =>
	Array.from(text.matchAll(pattern), (match) => ({
		value: (match[group] ?? "").trim(),
		index: match.index + Math.max(0, match[0].indexOf(match[group] ?? "")),
	})).filter(({ value }) => value !== "");

export const quoted = (text: string): Phrase[] =>
	all(
		text,
		/(?<![\p{L}\p{N}])["“«„]([^"“”«»„]{1,2000})["”»]|(?<![\p{L}\p{N}])['‘`]([^'‘’`]{1,2000})['’`](?![\p{L}\p{N}])/gu,
	).map(({ value, index }) => ({ value: value.replace(/^["“«„'‘`]|["”»'’`]$/g, ""), index }));

export const emails = (text: string): Phrase[] =>
	all(text, /[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{2,63})+/gu);

export const urls = (text: string): Phrase[] =>
	all(text, /\bhttps?:\/\/[^\s<>"'）)]{1,2000}[^\s<>"'）).,;!?]/g);

export const phones = (text: string): Phrase[] => all(text, /(?<![\w-])\+?\d[\d\s().-]{5,18}\d(?![\w-])/g);

/** `ORD-1234`, `#42`, `user_17`: a mark that is not a plain word or number. */
export const identifiers = (text: string): Phrase[] =>
	all(
		text,
		/(?<![\p{L}\p{N}])#?((?=[\p{L}_-]{0,63}\d)(?=\d{0,63}[\p{L}_-])[\p{L}\p{N}][\p{L}\p{N}_-]{1,63})(?![\p{L}\p{N}])|(?<=#)(\d{1,20})/gu,
	).map(({ value, index }) => ({ value: value.replace(/^#/, ""), index }));

/** Dates, times and addresses are full of digits that count nothing. */
const NO_NUMBERS =
	/\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|https?:\/\/\S+|\S{1,64}@\S{1,255}/g;

/** A number as written, and what it is. */
export interface NumberPhrase extends Phrase {
	number: number;
}

export function numbers(written: string): NumberPhrase[] {
	// Blanks of the same length: the places of the others stay.
	const text = written.replace(NO_NUMBERS, (found) => " ".repeat(found.length));
	const digits = all(
		text,
		/(?<![\p{L}\p{N}_.,])(?:[-−](?=\d))?\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?(?![\p{N}_]|[.,]\d)/gu,
	).map((phrase) => ({ ...phrase, number: Number(phrase.value.replaceAll(",", "").replace("−", "-")) }));
	const spelled = all(text, /\b[a-z]{3,9}(?:[-\s][a-z]{3,5})?\b/gi).flatMap((phrase) => {
		const both = numberWord(phrase.value);
		if (both !== undefined) return [{ ...phrase, number: both }];
		// "one city" is two words here, and "have two" as well.
		return phrase.value.split(/\s/).flatMap((word) => {
			const number = numberWord(word);
			return number === undefined
				? []
				: [{ value: word, index: phrase.index + phrase.value.indexOf(word), number }];
		});
	});
	return [...digits, ...spelled].sort((a, b) => a.index - b.index);
}

const MONTHS = "january february march april may june july august september october november december".split(
	" ",
);
const MONTH =
	"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday".split(" ");
const DAY_MS = 86_400_000;

const DATE = new RegExp(
	[
		String.raw`\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?`,
		String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(?<month>${MONTH})\b\.?(?:,?\s+(?<year>\d{4}))?`,
		String.raw`(?<month2>${MONTH})\b\.?\s+(?<day2>\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(?<year2>\d{4}))?`,
		String.raw`\b(?:day after tomorrow|today|tonight|now|tomorrow|yesterday)\b`,
		String.raw`\b(?:(?:next|this|on|last)\s+)?(?:${WEEKDAYS.join("|")})\b`,
	].join("|"),
	"gi",
);

export interface DatePhrase extends Phrase {
	/** `YYYY-MM-DD` in UTC. */
	iso: string;
}

/** Dates, written or relative to `now` (epoch milliseconds). A weekday is the next one, a date without a year this year's. */
export function dates(text: string, now: number): DatePhrase[] {
	return Array.from(text.matchAll(DATE), (match) => {
		const value = match[0].trim();
		const index = match.index;
		const iso = isoOf(value.toLowerCase(), match.groups ?? {}, now);
		return { value: value.replace(/^(?:on|this)\s+/i, ""), index, iso };
	}).filter(({ iso }) => iso !== "");
}

function isoOf(value: string, groups: Record<string, string | undefined>, now: number): string {
	const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
	if (/^\d{4}-/.test(value)) return Number.isNaN(Date.parse(value.slice(0, 10))) ? "" : value.slice(0, 10);
	const month = groups.month ?? groups.month2;
	if (month !== undefined) {
		const year = Number(groups.year ?? groups.year2 ?? new Date(now).getUTCFullYear());
		const place = MONTHS.findIndex((name) => name.startsWith(month.slice(0, 3).toLowerCase()));
		const day = Number(groups.day ?? groups.day2);
		const ms = Date.UTC(year, place, day);
		return day >= 1 && new Date(ms).getUTCMonth() === place ? date(ms) : "";
	}
	if (value === "day after tomorrow") return date(now + 2 * DAY_MS);
	if (value === "tomorrow") return date(now + DAY_MS);
	if (value === "yesterday") return date(now - DAY_MS);
	const weekday = WEEKDAYS.findIndex((name) => value.endsWith(name));
	if (weekday < 0) return date(now);
	const ahead = (weekday - new Date(now).getUTCDay() + 7) % 7 || 7;
	return date(now + (value.startsWith("last") ? ahead - 7 || -7 : ahead) * DAY_MS);
}

/** Times of the day as written, and as `HH:MM:SS`. */
export function times(text: string): (Phrase & { clock: string })[] {
	const pattern =
		/\b(?<hour>[01]?\d|2[0-3])(?::(?<minute>[0-5]\d)(?::[0-5]\d)?\s*(?<half>[ap]\.?m\b\.?)?|\s*(?<half2>[ap]\.?m\b\.?))|\b(?<noon>noon|midnight)\b/gi;
	return Array.from(text.matchAll(pattern), (match) => {
		const { hour = "12", minute = "00", half, half2, noon } = match.groups ?? {};
		const evening = /^p/i.test(half ?? half2 ?? "") || noon === "noon";
		const twelve = half !== undefined || half2 !== undefined || noon !== undefined;
		const hours = twelve ? (Number(hour) % 12) + (evening ? 12 : 0) : Number(hour);
		return {
			value: match[0].trim(),
			index: match.index,
			clock: `${String(hours).padStart(2, "0")}:${minute}:00`,
		};
	});
}

const CAPITALISED =
	/(?<![\p{L}\p{N}@#/._-])\p{Lu}[\p{L}\p{M}\p{N}'’&-]*(?:\.(?=\s?\p{Lu}))?(?:\s+(?:(?:de|da|di|van|von|der|la|le|of|the|du|del|bin|al)\s+)*\p{Lu}[\p{L}\p{M}\p{N}'’&-]*){0,5}/gu;
// Words that begin sentences of every kind and are no names, beside the stop words.
const NO_NAMES = new Set(
	`add analyze answer ask book buy calculate call cancel check classify compare compute context convert could count
	create define delete describe do email estimate evaluate explain extract fetch find first forecast generate get
	give google hello help hey hi how identify input json list look lookup mail make message multiply name need next
	note open order output parse pay please print provide question read record remember remind remove reply report
	reserve respond return run save say schedule search second send set should show solve start stop subtract suggest
	summarize summarise system tell temperature text thanks then third translate turn update use user using verify
	weather what's write i i'm i'd i've i'll it's that's let's today tomorrow tonight yesterday celsius fahrenheit kelvin
	yes no ok okay my your our their his her its who's where's when's`
		.split(/\s+/)
		.concat(MONTHS, WEEKDAYS),
);

const isName = (word: string): boolean => !NO_NAMES.has(fold(word)) && !isStopWord(word);

/** Runs of capitalised words that are not just the beginning of a sentence, nor a quotation by themselves. */
export function names(text: string): Phrase[] {
	const titles = new Set(quoted(text).map(({ value }) => value));
	return all(text, CAPITALISED).flatMap(({ value, index }) => {
		// "Ask Alice": the run begins where the name does.
		let rest = value;
		while (rest !== "") {
			const [first = ""] = rest.split(/\s+/);
			if (isName(first.replace(/['’]s$/, ""))) break;
			rest = rest.slice(first.length).trimStart();
		}
		rest = rest.replace(/['’]s?$/, "");
		if (rest === "" || titles.has(rest) || /^[\p{Lu}]$/u.test(rest)) return [];
		return [{ value: rest, index: text.indexOf(rest, index) }];
	});
}

const TIME_WORDS =
	/^(?:today|tonight|tomorrow|yesterday|now|currently|this|next|last|please|right|at|on|in|for|and|or|then|with|using|to|from|by|per|is|are|was|will|the|a|an|my|your|me|it|them|him|her|us|degrees?|celsius|fahrenheit|week|weekend|month|year|day|days|hours?|minutes?|morning|evening|afternoon|night|noon|moment|\d.*)$/i;

/**
 * What stands after one of the prepositions: "in Paris, France", "to the office". Several joined by commas and "and"
 * come as several. Names first, then plain words.
 */
export function after(text: string, prepositions: string): Phrase[] {
	const name = String.raw`(?:(?:St|Mt|Ft)\.\s+)?\p{Lu}[\p{L}\p{M}'’-]*(?:\s+(?:(?:de|la|le|of|the|upon|do|da|del|di)\s+)?\p{Lu}[\p{L}\p{M}'’-]*)*`;
	const place = String.raw`${name}(?:,\s*${name}(?!\p{L}|\s*(?:,|and\b|or\b)\s*\p{Lu}))?`;
	const many = new RegExp(
		String.raw`(?<![\p{L}\p{N}])(?:${prepositions})\s+(?:the\s+(?:city|town|country|state)\s+of\s+)?(${place}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and|or|&)\s+)(?:(?:${prepositions})\s+)?${place})*)`,
		"giu",
	);
	// `i` would let small letters pass as capitals, so only the prepositions ignore case.
	const cased = new RegExp(many.source.replace(`(?:${prepositions})`, `(?:${anyCase(prepositions)})`), "gu");
	const capitalised = Array.from(text.matchAll(cased)).flatMap((match) => {
		const joined = match[1] ?? "";
		const start = match.index + match[0].lastIndexOf(joined);
		return splitList(joined, prepositions)
			.map((value) => ({
				value: value.replace(/['’]s$|[.,;:]+$/g, ""),
				index: start + joined.indexOf(value),
			}))
			.filter(({ value }) => isName(value.split(/\s/)[0] ?? ""));
	});
	if (capitalised.length > 0) return capitalised;
	return all(
		text,
		new RegExp(
			String.raw`(?<![\p{L}\p{N}])(?:${anyCase(prepositions)})\s+((?:[\p{L}\p{M}'’-]+\s*){1,4})`,
			"gu",
		),
		1,
	).flatMap(({ value, index }) => {
		const kept: string[] = [];
		for (const word of value.replace(/^(?:the|my|a|an)\s+/i, "").split(/\s+/)) {
			if (TIME_WORDS.test(word)) break;
			kept.push(word);
		}
		return kept.length > 0 ? [{ value: kept.join(" "), index }] : [];
	});
}

const anyCase = (prepositions: string): string =>
	prepositions
		.split("|")
		.map((word) => `[${word.charAt(0).toUpperCase()}${word.charAt(0)}]${word.slice(1)}`)
		.join("|");

/** "Paris, London and Rome" in three; "Paris, France", "Austin, TX" and both parts of "Paris, France and in Rome" whole. */
function splitList(joined: string, prepositions: string): string[] {
	const repeated = joined.split(
		new RegExp(String.raw`(?:,\s*|\s+)(?:and|or|&)\s+(?:${prepositions})\s+`, "u"),
	);
	if (repeated.length > 1 && repeated.every((part) => !/,.*,|\s(?:and|or|&)\s/.test(part))) return repeated;
	const parts = joined
		.split(
			new RegExp(
				String.raw`\s+(?:and|or|&)\s+(?:(?:${prepositions})\s+)?|,\s*and\s+(?:(?:${prepositions})\s+)?`,
				"u",
			),
		)
		.filter((part) => part !== "");
	if (parts.length === 1 && (joined.match(/,/g)?.length ?? 0) <= 1) return parts;
	return parts.flatMap((part) => (/,\s*[A-Z]{2}$/.test(part) ? [part] : part.split(/\s*,\s*/)));
}

const SEPARATOR = /\s*(?:,\s*(?:and|or|&)?|;|\n|\band\b|\bor\b|、|，)\s*/u;

/** The first list in a text that is not after a label: "pancakes with flour, milk and eggs". */
export function listIn(text: string): string[] {
	const list =
		/\b(?:with|of|are|include[sd]?|including|like|from|use|using|need)\s+((?:[\p{L}\p{N}' -]{1,40},\s*){1,20}(?:(?:and|or)\s+)?[\p{L}\p{N}' -]{1,40})/u.exec(
			text,
		)?.[1];
	return list === undefined ? [] : enumeration(list);
}

/** What an order is about: "Add 3 apples to my cart" is about apples. */
export function objectOf(text: string): Phrase[] {
	const match =
		/^(?:please\s+|can you\s+|could you\s+)?\p{L}+\s+(?:(?:\d+|an?|the|some|my|all|me|one|two|three)\s+)*([\p{L}\p{M}\p{N}'’-]+(?:\s+[\p{L}\p{M}\p{N}'’-]+){0,4}?)(?=\s+(?:to|in|on|at|for|from|with|into|of|using|by|and|as|because|about)\b|[.?!,]|$)/iu.exec(
			text.trim(),
		);
	const value = match?.[1];
	return value === undefined || isStopWord(value) ? [] : [{ value, index: text.indexOf(value) }];
}

/** The members of an enumeration: "eggs, milk and flour". */
export const enumeration = (text: string): string[] =>
	text
		.replace(/[.!?]+$/, "")
		.split(SEPARATOR)
		.map((part) => part.replace(/^(?:a|an|the|some|[-*•])\s+/i, "").trim())
		.filter((part) => part !== "" && part.length <= 200);
