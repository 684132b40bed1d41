/**
 * Divides a text into chunks of at most a number of tokens: at paragraphs, then sentences, then words, then characters. A chunk begins with
 * the end of the one before it (the overlap). Tokens are estimated (`counting/token-estimate.ts`).
 */
import { approximateTokens } from "../../counting/token-estimate.ts";
import { MAX_CHUNKS } from "./limits.ts";
import type { TextChunk } from "./records.ts";

interface ChunkSize {
	tokens: number;
	/** 0 to 30. */
	overlapPercent: number;
}

/** Where a text may be cut: after each match. From large parts to small ones. */
const BOUNDARIES: readonly RegExp[] = [/\n\s*\n+/g, /(?:[.!?]["')\]]*\s+|[。！？]|\n)/g, /\s+/g];
/** No text has more tokens than this for each character. */
const MAX_TOKENS_PER_CHARACTER = 2;

interface Span {
	start: number;
	end: number;
}

/** Without empty chunks. `undefined`: more than {@link MAX_CHUNKS}. */
export function chunksOf(text: string, { overlapPercent, tokens }: ChunkSize): TextChunk[] | undefined {
	const overlap = overlapPercent / 100;
	const size = Math.max(1, Math.floor(tokens * (1 - overlap)));
	const spans = packed(text, [...parts(text, { start: 0, end: text.length }, size, 0)], size);
	const chunks: TextChunk[] = [];
	let at = 0;
	let bytes = 0;
	let before: Span | undefined;
	for (const span of spans) {
		const start = before ? overlapped(text, span, before, overlap) : span.start;
		before = span;
		const trimmed = trim(text, { start, end: span.end });
		if (trimmed.start >= trimmed.end) continue;
		if (chunks.length === MAX_CHUNKS) return undefined;
		bytes += Buffer.byteLength(text.slice(at, trimmed.start));
		at = trimmed.start;
		const own = text.slice(trimmed.start, trimmed.end);
		chunks.push({ text: own, start: bytes, end: bytes + Buffer.byteLength(own) });
	}
	return chunks;
}

/** Parts of at most `size` tokens, one after another. */
function* parts(text: string, span: Span, size: number, level: number): Generator<Span> {
	if (tokensOf(text, span) <= size) {
		yield span;
		return;
	}
	const boundary = BOUNDARIES[level];
	if (!boundary) {
		yield* slices(text, span, size);
		return;
	}
	let start = span.start;
	const inside = text.slice(span.start, span.end);
	for (const match of inside.matchAll(boundary)) {
		const end = span.start + match.index + match[0].length;
		if (end >= span.end) break;
		yield* parts(text, { start, end }, size, level + 1);
		start = end;
	}
	yield* parts(text, { start, end: span.end }, size, level + 1);
}

/** Of a text without boundaries. No character is cut. */
function* slices(text: string, { start, end }: Span, size: number): Generator<Span> {
	const step = Math.max(1, Math.floor(size / MAX_TOKENS_PER_CHARACTER));
	for (let at = start; at < end; ) {
		const next = whole(text, Math.min(end, at + step), at);
		yield { start: at, end: next };
		at = next;
	}
}

/** Joins parts while they have at most `size` tokens together. */
function packed(text: string, spans: readonly Span[], size: number): Span[] {
	const result: Span[] = [];
	let current: Span | undefined;
	let tokens = 0;
	for (const span of spans) {
		const added = tokensOf(text, span);
		if (current && tokens + added <= size) {
			current.end = span.end;
			tokens += added;
			continue;
		}
		current = { ...span };
		tokens = added;
		result.push(current);
	}
	return result;
}

/** The start of a chunk with the end of the one before it, from the beginning of a word if there is one. */
function overlapped(text: string, span: Span, before: Span, overlap: number): number {
	const characters = Math.floor((span.end - span.start) * overlap);
	const from = whole(text, Math.max(before.start, span.start - characters), before.start);
	const word = /\s/.exec(text.slice(from, span.start));
	return from === before.start ? from : word ? from + word.index : from;
}

const tokensOf = (text: string, { start, end }: Span): number => approximateTokens([text.slice(start, end)]);

/** Moves a place to after a surrogate pair that it would cut. */
const whole = (text: string, at: number, from: number): number =>
	at > from && at < text.length && /[\udc00-\udfff]/.test(text.charAt(at)) ? at + 1 : at;

function trim(text: string, { start, end }: Span): Span {
	const own = text.slice(start, end);
	const left = own.length - own.trimStart().length;
	return { start: start + left, end: start + Math.max(left, own.trimEnd().length) };
}
