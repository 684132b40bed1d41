/** The same by AI Search, which divides, embeds, stores and finds the documents, and lets a model answer. */
import { DOCUMENTS } from "./documents.ts";

const CHUNKS = 2;
/** Questions have words that the documents do not have. */
const RETRIEVAL = { keyword_match_mode: "or", match_threshold: 0, max_num_results: CHUNKS } as const;

export async function answerFrom(
	handbook: AiSearchInstance,
	question: string,
): Promise<{ answer: string; sources: { source: string; score: number }[] }> {
	const { completed } = await handbook.stats();
	if (!completed)
		await Promise.all(DOCUMENTS.map(({ source, text }) => handbook.items.uploadAndPoll(source, text)));
	const { choices, chunks } = await handbook.chatCompletions({
		messages: [{ role: "user", content: question }],
		ai_search_options: { retrieval: RETRIEVAL },
	});
	return {
		answer: choices[0]?.message.content ?? "",
		sources: chunks.map(({ item, score }) => ({ source: item.key, score })),
	};
}
