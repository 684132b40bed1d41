/** https://platform.openai.com/docs/api-reference/embeddings. The engine decides how token vectors are pooled. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { SentUsage } from "../../core/usage.ts";
import { NO_TOKENS, type WrittenVectors } from "../../tasks/text-embeddings/index.ts";
import type { Handler } from "../handler.ts";
import { refusalMatches, withoutIfRefused } from "../refused-feature.ts";
import { postJson } from "../transport/http.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";
import { serviceAt } from "./hosts.ts";
import { ExtractedVector, extractVectors, floatsIn, lengthOf, numbersOf } from "./vectors.ts";

const EmbeddingsReply = lazy(() =>
	z.looseObject({
		data: z.array(
			z.looseObject({
				index: z.int().nonnegative().nullish(),
				embedding: z.union([ExtractedVector(), z.string()]),
			}),
		),
		usage: SentUsage.nullish(),
	}),
);

const FORMAT_REFUSAL = refusalMatches(/encoding_format|base64/i);

/** Requests the caller's encoding. An engine that refuses base64 gets a request for numbers, and `observed` records the refusal. */
export const embedTexts: Handler<"text-embeddings"> = async (input, call) => {
	const { observed } = call.target;
	const asNumbers = { ...input, encoding: undefined };
	if (input.encoding === undefined || observed?.refusesBase64) return embed(asNumbers, call);
	return withoutIfRefused(call, {
		isNamed: FORMAT_REFUSAL,
		request: (encoded) => embed(input, encoded),
		requestWithout: (plain) => embed(asNumbers, plain),
		learn() {
			if (observed) observed.refusesBase64 = true;
		},
	});
};

const embed: Handler<"text-embeddings"> = async ({ texts, tokens, dimensions, truncate, encoding }, call) => {
	const { host, isOpenAi } = serviceAt(call.target);
	if (tokens && host && !host.embedsTokens)
		throw new AiError("engineRefused", `The backend '${call.target.backend}' embeds ${NO_TOKENS}`, {
			retryable: true,
		});
	const rowCount = (tokens ?? texts).length;
	const vectors: string[] = [];
	const body = {
		model: call.target.model,
		input: tokens ?? texts,
		encoding_format: encoding ?? "float",
		dimensions,
		// vLLM's field: truncates at the model's maximum length.
		...(truncate && !isOpenAi && { truncate_prompt_tokens: -1 }),
	};
	let received = "";
	const parse = (text: string): unknown => {
		received = text;
		try {
			return extractVectors(text, vectors);
		} catch {
			return undefined;
		}
	};
	const { data, usage } = await postJson(call, "/embeddings", body, EmbeddingsReply(), { parse });
	// Some engines ignore the encoding and send numbers.
	const as = encoding && data.every(({ embedding }) => typeof embedding === "string") ? encoding : "json";
	const indexed = data.map(({ index, embedding }, position) => ({
		at: index ?? position,
		row: typeof embedding === "string" ? validBase64(embedding, as) : vectors[embedding.row],
	}));
	const indices = new Set(indexed.map(({ at }) => at).filter((at) => at < rowCount));
	const rows = indexed.sort((a, b) => a.at - b.at).flatMap(({ row }) => row ?? []);
	const failure = () => failureOfShape(call, `${rowCount} embeddings`, received);
	/** A value that turns out to be no number is a failure of the engine. */
	const reading = <Value>(read: () => Value): Value => {
		try {
			return read();
		} catch {
			throw failure();
		}
	};
	const [first] = rows;
	if (data.length !== rowCount || indices.size !== rowCount || rows.length !== rowCount) throw failure();
	const length = first === undefined ? 0 : reading(() => lengthOf(as, first));
	const written: WrittenVectors = { as, rows, length };
	return {
		get vectors() {
			return reading(() => numbersOf(written));
		},
		written,
		...(usage && { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }),
	};
};

/** `undefined` if it is not base64 of floats. */
const validBase64 = (sent: string, as: WrittenVectors["as"]): string | undefined =>
	as === "base64" && floatsIn(sent) ? sent : undefined;
