/**
 * Options of Deepgram's models that only arrange or search a transcript (https://developers.deepgram.com/docs/features-overview). The
 * gateway applies them, so that they work with every engine that reports the times of words. All others are options of the engine.
 */
import { present } from "../../core/present.ts";
import type { Transcript, Word } from "../../tasks/speech-recognition/types.ts";

type Terms = string | string[] | undefined;
type Flag = boolean | "true" | "false" | undefined;

export interface DeepgramOptions {
	detect_language?: Flag;
	paragraphs?: Flag;
	utterances?: Flag;
	utt_split?: number | string | undefined;
	search?: Terms;
	replace?: Terms;
}

export const isSet = (flag: Flag): boolean => flag === true || flag === "true";

/** Deepgram's limit for replacements. */
const MAX_TERMS = 200;
const list = (terms: Terms): string[] => [terms ?? []].flat().slice(0, MAX_TERMS);

/** Seconds of silence between two utterances: Deepgram's default. */
const UTTERANCE_GAP = 0.8;
const SENTENCE_END = /[.?!。？！]["'”’)]*$/;

/** Applies `replace`: terms of the form `find:replacement`. Without a replacement, the term is removed. */
export function replaceTerms(transcript: Transcript, { replace }: DeepgramOptions): Transcript {
	const rules = list(replace).flatMap((rule) => {
		const [find = "", ...replacement] = rule.split(":");
		return find.trim() === "" ? [] : [{ find: termPattern(find), replacement: replacement.join(":") }];
	});
	if (rules.length === 0) return transcript;
	const apply = (text: string): string =>
		rules.reduce((changed, { find, replacement }) => changed.replace(find, () => replacement), text);
	const words = transcript.words?.map((word) => ({ ...word, word: apply(word.word) }));
	return {
		...transcript,
		text: apply(transcript.text).replace(/ {2,}/g, " ").trim(),
		...(words && { words: words.filter(({ word }) => word.trim() !== "") }),
	};
}

/** The whole term in any case. */
const termPattern = (term: string): RegExp =>
	new RegExp(
		`(?<![\\p{L}\\p{N}])${term.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`,
		"giu",
	);

interface Sentence {
	text: string;
	start: number;
	end: number;
}

/** `paragraphs` of an alternative. */
export function paragraphsOf(words: readonly Word[], options: DeepgramOptions): Record<string, unknown> {
	const paragraphs = groupsOf(words, options).map((group) => ({
		sentences: sentencesOf(group),
		num_words: group.length,
		...timesOf(group),
	}));
	const texts = paragraphs.map(({ sentences }) => sentences.map(({ text }) => text).join(" "));
	return { transcript: texts.map((text) => `\n${text}`).join("\n"), paragraphs };
}

/** `utterances` of the results. */
export const utterancesOf = (
	words: readonly Word[],
	options: DeepgramOptions,
	newId: () => string,
): object[] =>
	groupsOf(words, options).map((group) => ({
		...timesOf(group),
		...present({ confidence: meanConfidence(group) }),
		channel: 0,
		transcript: joined(group),
		words: group.map(plainWord),
		...present({ speaker: group[0]?.speaker }),
		id: newId(),
	}));

/** `search` of a channel: for each term, where it is. */
export const searchHits = (words: readonly Word[], { search }: DeepgramOptions): object[] =>
	list(search).map((query) => {
		const terms = query.split(/\s+/).map(bare).filter(Boolean);
		const hits = words.flatMap((_, at) => {
			const found = words.slice(at, at + terms.length);
			const isHit = terms.length > 0 && terms.every((term, place) => bare(found[place]?.word ?? "") === term);
			return isHit
				? [{ confidence: meanConfidence(found) ?? 1, ...timesOf(found), snippet: joined(found) }]
				: [];
		});
		return { query, hits };
	});

export function meanConfidence(words: readonly Word[]): number | undefined {
	const known = words.flatMap(({ confidence }) => confidence ?? []);
	return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : undefined;
}

/** A word of the answer. Whisper's words have leading spaces. */
export const plainWord = ({ word, start, end, confidence, speaker }: Word) => ({
	word: word.trim(),
	start,
	end,
	...present({ confidence, speaker }),
});

/** Words between silences. */
function groupsOf(words: readonly Word[], { utt_split }: DeepgramOptions): Word[][] {
	const gap = utt_split === undefined ? UTTERANCE_GAP : Number(utt_split);
	const groups: Word[][] = [];
	for (const word of words) {
		const last = groups.at(-1);
		const previous = last?.at(-1);
		const continues = previous && word.start - previous.end < gap && word.speaker === previous.speaker;
		if (last && continues) last.push(word);
		else groups.push([word]);
	}
	return groups;
}

function sentencesOf(words: readonly Word[]): Sentence[] {
	const sentences: Word[][] = [[]];
	for (const [index, word] of words.entries()) {
		sentences.at(-1)?.push(word);
		if (SENTENCE_END.test(word.word) && index < words.length - 1) sentences.push([]);
	}
	return sentences.map((sentence) => ({ text: joined(sentence), ...timesOf(sentence) }));
}

const joined = (words: readonly Word[]): string => words.map(({ word }) => word.trim()).join(" ");

const timesOf = (words: readonly Word[]): { start: number; end: number } => ({
	start: words[0]?.start ?? 0,
	end: words.at(-1)?.end ?? 0,
});

const bare = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}'-]/gu, "");
