/**
 * `groundingMetadata`: the web searches of an answer and the pages that it cites. The positions of a segment are bytes of the UTF-8 text of
 * the candidate.
 */
import type { WebSearchCall } from "../../tasks/text-generation/types.ts";
import { citationsIn, citationsOf, sourcesOf } from "../chat/citations.ts";

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const domainOf = (uri: string): string => (URL.canParse(uri) ? new URL(uri).hostname : uri);

/** `annotations`: those that the engine sent. Empty if there was neither a search nor a citation. */
export function grounding(
	text: string,
	searches: readonly WebSearchCall[],
	annotations: readonly unknown[] | null | undefined,
): { groundingMetadata?: object } {
	if (searches.length === 0 && !annotations?.length) return {};
	const searched = sourcesOf(searches);
	const citations = [...citationsIn(text, searched), ...citationsOf(annotations, searched)];
	const sources = [...new Set([...searched, ...citations.map(({ source }) => source)])];
	const titles = new Map(citations.map(({ source, title }) => [source, title]));
	const groundingSupports = citations.map(({ source, start, end }) => {
		const cited = text.slice(start, end);
		const startIndex = bytesOf(text.slice(0, start));
		return {
			segment: { startIndex, endIndex: startIndex + bytesOf(cited), text: cited },
			groundingChunkIndices: [sources.indexOf(source)],
		};
	});
	return {
		groundingMetadata: {
			webSearchQueries: searches.map(({ query }) => query),
			groundingChunks: sources.map((source) => {
				const { url: uri } = source;
				return { web: { uri, title: titles.get(source) ?? source.title, domain: domainOf(uri) } };
			}),
			...(groundingSupports.length > 0 && { groundingSupports }),
		},
	};
}
