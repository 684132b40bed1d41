/** Answers of chats from the cache, and those that are kept in it. */
import { isRecord, parseJson } from "../../core/json.ts";
import type { AnswerLookup } from "../../retrieval/search/cache/cached-answers.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { type CacheStatus, cacheMarked, marked } from "./lexical-scores.ts";

/** A longer stream is not kept. */
const MAX_BYTES = 256 * 1_024;
const END = "data: [DONE]";
const DATA_LINE = /^data: (.*)$/gm;

interface NewAnswer {
	response: Response;
	isLexical: boolean;
	/** It may answer the same question again. */
	isKept: boolean;
}

/** `lookup`: absent if the answer is not cached. `run` answers a miss. */
export async function cachedAnswer(
	lookup: AnswerLookup | undefined,
	{ isStream, waitUntil }: Pick<KeptChat, "isStream" | "waitUntil">,
	run: () => Promise<NewAnswer>,
): Promise<Response> {
	const cached = lookup && cachedChat(lookup, isStream);
	if (cached) return cached;
	const { isKept, isLexical, response } = await run();
	if (!lookup) return response;
	if (!isKept) return cacheMarked(response, "MISS");
	return keptChat(response, lookup, { isStream, isLexical, waitUntil });
}

/** `undefined`: a miss. */
function cachedChat({ found }: AnswerLookup, isStream: boolean): Response | undefined {
	if (!found) return undefined;
	const { isLexical, text } = found;
	const headers: Record<string, string> = isStream
		? { "content-type": SSE_CONTENT_TYPE, "cache-control": "no-cache" }
		: { "content-type": "application/json", "cf-ai-neurons": "0.00" };
	const body = isStream
		? text.replace(DATA_LINE, (_, data: string) => `data: ${withoutCost(data)}`)
		: withoutCost(text);
	return cacheMarked(marked(new Response(body, { headers }), { isLexical }), "HIT");
}

/** The completion, or one of its chunks, with no neurons: they were paid for the first answer. */
function withoutCost(json: string): string {
	if (!json.includes('"neurons"')) return json;
	const completion = parseJson(json);
	if (!isRecord(completion) || !isRecord(completion.usage)) return json;
	return JSON.stringify({ ...completion, usage: { ...completion.usage, neurons: 0 } });
}

interface KeptChat {
	isStream: boolean;
	isLexical: boolean;
	waitUntil(promise: Promise<unknown>): void;
}

/** The answer of a miss. It is kept when the caller has all of it. */
async function keptChat(
	response: Response,
	{ keep }: AnswerLookup,
	{ isLexical, isStream, waitUntil }: KeptChat,
): Promise<Response> {
	const status: CacheStatus = "MISS";
	if (!response.body) return cacheMarked(response, status);
	if (!isStream) {
		const text = await response.text();
		await keep({ text, isLexical });
		return cacheMarked(new Response(text, response), status);
	}
	const source = PulledStream.sourceOf(response.body);
	let pieces: Uint8Array[] | undefined = [];
	let bytes = 0;
	const events = new PulledStream<Uint8Array>({
		async pull() {
			const piece = await source.pull();
			if (piece) {
				bytes += piece.byteLength;
				if (bytes > MAX_BYTES) pieces = undefined;
				pieces?.push(piece);
				return piece;
			}
			const text = pieces && Buffer.concat(pieces).toString("utf8");
			// A stream that was cut off is no answer.
			if (text?.includes(END)) waitUntil(keep({ text, isLexical }));
			return undefined;
		},
		cancel: (reason) => source.cancel(reason),
	});
	return cacheMarked(new Response(events, response), status);
}
