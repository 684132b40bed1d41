/** Tells readers of scores that the simulator has made the embeddings. */
import { envelope } from "../../http/envelope.ts";

/** Of every answer with scores. Its value: {@link LEXICAL}. */
const SCORES_HEADER = "x-ganglion-scores";
const LEXICAL = "lexical";
/** For people and models. */
export const NOTE =
	"The simulator has made the embeddings: the scores compare words and parts of words, not meanings (docs/simulator.md)";

/** A result, and what a reader of its scores must know. */
export interface NotedResult<Result> {
	result: Result;
	isLexical: boolean;
}

export function marked(response: Response, { isLexical }: { isLexical: boolean }): Response {
	if (isLexical) response.headers.set(SCORES_HEADER, LEXICAL);
	return response;
}

/** The result in the envelope, with a message for people. */
export const notedEnvelope = ({ isLexical, result }: NotedResult<object>): Response =>
	marked(envelope(result, { messages: isLexical ? [{ message: NOTE }] : [] }), { isLexical });
