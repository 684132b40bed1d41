/** The models that AI Search calls, each as a request of the caller, in the gateway of the instance. */
import { AiError, BAD_GATEWAY, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Inputs } from "../../pipeline/request.ts";
import { isNumbers } from "../vectors/read-vectors.ts";
import { searchFailure } from "./failures.ts";
import type { ModelField } from "./model-fields.ts";

/** Calls of models for one caller. Each throws an `AiError`. */
export interface SearchModels {
	/** OpenAI's format, for every model. */
	openAi(endpoint: "/chat/completions" | "/embeddings", fields: ModelFields): Promise<Response>;
	/** The model's own format. */
	native(model: string, fields: Record<string, unknown>, body?: Inputs["body"]): Promise<unknown>;
	/** Whether the simulator has made embeddings or rankings: they compare words, not meanings. */
	readonly isLexical: boolean;
}

type ModelFields = Record<string, unknown> & { model: string };

/** Texts of one request. */
const BATCH_TEXTS = 32;
const BATCH_CHARACTERS = 24_000;
const MAX_REWRITE_TOKENS = 256;

/** One vector for each text. Throws 7010 that names the setting if no route serves the model. */
export async function* embeddings(
	model: string,
	texts: readonly string[],
	models: SearchModels,
): AsyncGenerator<Float32Array<ArrayBuffer>[]> {
	for (let at = 0; at < texts.length; ) {
		let end = at;
		let characters = 0;
		while (end < texts.length && end - at < BATCH_TEXTS) {
			characters += texts[end]?.length ?? 0;
			if (end > at && characters > BATCH_CHARACTERS) break;
			end++;
		}
		yield await embedded(model, texts.slice(at, end), models);
		at = end;
	}
}

async function embedded(
	model: string,
	input: readonly string[],
	models: SearchModels,
): Promise<Float32Array<ArrayBuffer>[]> {
	const answer = await serving("embedding_model", () =>
		models.openAi("/embeddings", { model, input, encoding_format: "float" }).then(jsonOf),
	);
	const rows: unknown[] = isRecord(answer) && Array.isArray(answer.data) ? answer.data : [];
	const vectors = rows.flatMap((row) => {
		const numbers: unknown = isRecord(row) ? row.embedding : undefined;
		return isNumbers(numbers) && numbers.length > 0 ? [new Float32Array(numbers)] : [];
	});
	const width = vectors[0]?.length;
	if (vectors.length !== input.length || vectors.some(({ length }) => length !== width))
		throw new AiError("executionFailed", `${model} did not return one vector for each text`, {
			status: BAD_GATEWAY,
		});
	return vectors;
}

export async function embedQuery(
	model: string,
	query: string,
	models: SearchModels,
): Promise<Float32Array<ArrayBuffer>> {
	const [vector] = await embedded(model, [query], models);
	if (!vector) throw new AiError("executionFailed");
	return vector;
}

/** The score of each text, 0 to 1. */
export async function rerank(
	model: string,
	{ query, texts }: { query: string; texts: readonly string[] },
	models: SearchModels,
): Promise<number[]> {
	const contexts = texts.map((text) => ({ text }));
	const answer = await serving("reranking_model", () => models.native(model, { query, contexts }));
	const rows: unknown[] = isRecord(answer) && Array.isArray(answer.response) ? answer.response : [];
	const scores = texts.map(() => 0);
	for (const row of rows)
		if (isRecord(row) && typeof row.id === "number" && typeof row.score === "number" && row.id in scores)
			scores[row.id] = row.score;
	return scores;
}

const REWRITE_PROMPT =
	"Rewrite the last question as one search query that can be understood without the conversation. Keep its language, names and numbers. Answer only with the query.";

/** A query that does not need the messages before it. */
export async function rewriteQuery(
	{ model, prompt = REWRITE_PROMPT }: { model: string; prompt?: string | undefined },
	{ history, query }: { history: readonly { role: string; text: string }[]; query: string },
	models: SearchModels,
): Promise<string> {
	const conversation = history.map(({ role, text }) => `${role}: ${text}`).join("\n");
	const messages = [
		{ role: "system", content: prompt },
		{ role: "user", content: `${conversation}\n\nThe last question: ${query}` },
	];
	const answer = await serving("rewrite_model", () =>
		models.openAi("/chat/completions", { model, messages, max_tokens: MAX_REWRITE_TOKENS }).then(jsonOf),
	);
	return contentOf(answer).trim() || query;
}

export function contentOf(completion: unknown): string {
	const [choice]: unknown[] =
		isRecord(completion) && Array.isArray(completion.choices) ? completion.choices : [];
	const message = isRecord(choice) ? choice.message : undefined;
	return isRecord(message) && typeof message.content === "string" ? message.content : "";
}

const jsonOf = (response: Response): Promise<unknown> => response.json();

const NOT_SERVED: ReadonlySet<string> = new Set(["noSuchModel", "unknownThirdPartyModel", "deprecatedModel"]);

/** A model without a route: the message also names the field of the instance's configuration, or `model` of the request. */
export async function serving<Value>(
	field: "model" | ModelField,
	call: () => Promise<Value>,
): Promise<Value> {
	try {
		return await call();
	} catch (thrown) {
		const error = toAiError(thrown);
		if (!NOT_SERVED.has(error.key)) throw error;
		throw searchFailure(
			"searchModelInvalid",
			`${error.description}${error.description.endsWith("?") ? "" : "."} The ${field === "model" ? "request" : "instance"} names it in ${field}`,
		);
	}
}
