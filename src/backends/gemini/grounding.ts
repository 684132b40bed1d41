/**
 * Google's own search, `googleSearch`: https://ai.google.dev/gemini-api/docs/google-search. `groundingMetadata` becomes the searches of the
 * answer and its citations.
 */
import * as z from "zod";
import { decodeUtf8 } from "../../media/utf8.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { ChatDelta, EngineSearch, WebSearchCall } from "../../tasks/text-generation/types.ts";
import { searchDeltas, searchesFor } from "../engine-search.ts";
import type { Call } from "../transport/upstream-failure.ts";

const Web = z.looseObject({ uri: z.string(), title: z.string().nullish() });
const Support = z.looseObject({
	segment: z.looseObject({
		startIndex: z.int().nullish(),
		endIndex: z.int(),
		text: z.string().nullish(),
	}),
	groundingChunkIndices: z.array(z.int()).nullish(),
});
const Grounding = z.looseObject({
	webSearchQueries: z.array(z.string()).nullish(),
	groundingChunks: z.array(z.looseObject({ web: Web.nullish() })).nullish(),
	groundingSupports: z.array(Support).nullish(),
});
type Grounding = z.output<typeof Grounding>;

/** `undefined`: the engine did not search. */
export function readGrounding(sent: unknown): Grounding | undefined {
	const { data } = safeParse(Grounding, sent);
	return data?.webSearchQueries?.length || data?.groundingChunks?.length ? data : undefined;
}

/**
 * Google's tool in the request. Its models take no functions beside it, so a request with functions is sent without. It has no list of
 * allowed domains, and a search that ignores the list is not what the caller requests.
 */
export function searchTools(
	search: EngineSearch | undefined,
	hasFunctions: boolean,
	{ report }: Pick<Call, "report">,
): object[] {
	if (!search) return [];
	const { allowedDomains, blockedDomains } = search;
	if (hasFunctions || allowedDomains?.length) {
		report?.dropped.push(search.name);
		return [];
	}
	return [{ googleSearch: blockedDomains?.length ? { excludeDomains: blockedDomains } : {} }];
}

function searchesOf(
	{ webSearchQueries, groundingChunks }: Grounding,
	uuid: () => string,
): Required<WebSearchCall>[] {
	const sources = (groundingChunks ?? []).flatMap(({ web }) =>
		web ? [{ url: web.uri, title: web.title ?? web.uri, text: "" }] : [],
	);
	const queries = webSearchQueries?.length ? webSearchQueries : [""];
	return searchesFor(queries, { sources }, uuid);
}

/** The citations in the form of chat. Google counts bytes of UTF-8, chat counts UTF-16 units. */
function annotationsOf({ groundingChunks, groundingSupports }: Grounding, text: string): unknown[] {
	const bytes = new TextEncoder().encode(text);
	return (groundingSupports ?? []).flatMap(({ segment, groundingChunkIndices }) => {
		const place = placeOf(segment, text, bytes);
		if (!place) return [];
		return (groundingChunkIndices ?? []).flatMap((index) => {
			const web = groundingChunks?.[index]?.web;
			if (!web) return [];
			const { uri: url, title } = web;
			return [{ type: "url_citation", url_citation: { ...place, title: title ?? url, url } }];
		});
	});
}

/** The positions count from the beginning of a part. The text of the segment decides which. */
function placeOf(
	{ startIndex, endIndex, text: segment }: z.output<typeof Support>["segment"],
	text: string,
	bytes: Uint8Array,
): { start_index: number; end_index: number } | undefined {
	const lengthOf = (end: number): number => decodeUtf8(bytes.subarray(0, end)).length;
	const place = { start_index: lengthOf(startIndex ?? 0), end_index: lengthOf(endIndex) };
	if (!segment || text.slice(place.start_index, place.end_index) === segment) return place;
	const found = text.indexOf(segment);
	return found < 0 ? undefined : { start_index: found, end_index: found + segment.length };
}

interface GroundedText {
	text: string;
	search: EngineSearch | undefined;
	uuid(): string;
}

/** The citations of a text, and the searches if the caller's format has them. */
export const groundsOf = (sent: Grounding, { text, search, uuid }: GroundedText) => ({
	annotations: annotationsOf(sent, text),
	searches: search?.showsSearches ? searchesOf(sent, uuid) : [],
});

/** The parts of a stream that show the searches and citations of its text. */
export function groundingDeltas(sent: Grounding, grounded: GroundedText): ChatDelta[] {
	const { annotations, searches } = groundsOf(sent, grounded);
	return [...(annotations.length > 0 ? [{ annotations }] : []), ...searches.flatMap(searchDeltas)];
}
