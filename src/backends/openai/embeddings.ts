/** https://platform.openai.com/docs/api-reference/embeddings. How token vectors are pooled is the engine's to say. */
import * as z from "zod";
import { toAiError } from "../../core/errors.ts";
import { SentUsage } from "../../core/usage.ts";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput, WrittenVectors } from "../../tasks/text-embeddings/types.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape, type Refusal } from "../transport/upstream-failure.ts";
import { isOpenAiService } from "./service.ts";
import { CutVector, cutVectors, floatsIn, lengthOf, numbersOf } from "./vectors.ts";

const EmbeddingsReply = z.looseObject({
	data: z.array(
		z.looseObject({ index: z.int().nonnegative().nullish(), embedding: z.union([CutVector, z.string()]) }),
	),
	usage: SentUsage.nullish(),
});

/** What a server says of a request that has something in it that it does not know. */
const REFUSALS: readonly (number | undefined)[] = [400, 422];
/** In a refusal that is about the way of writing. */
const FORMAT = /encoding_format|base64/i;

/** Refused to write base64, and gave numbers. By the addresses of the configuration: as many as there are. */
const knowNoBase64 = new Set<string>();

export async function embedTexts(input: EmbeddingsInput, call: Call): Promise<Answer<"text-embeddings">> {
	const { target, world } = call;
	const asNumbers = { ...input, encoding: undefined };
	if (input.encoding === undefined || knowNoBase64.has(target.url)) return embed(asNumbers, call);
	const begunAt = world.now();
	let isOfFormat = false;
	const refusal: Call["refusal"] = (refused) => {
		isOfFormat = FORMAT.test(wordsOf(refused));
		return call.refusal?.(refused);
	};
	try {
		return await embed(input, { ...call, refusal });
	} catch (thrown) {
		const { upstream } = toAiError(thrown);
		const { timeouts } = target;
		const leftMs = timeouts.totalMs - (world.now() - begunAt);
		if (!isOfFormat || !REFUSALS.includes(upstream?.status) || leftMs <= 0) throw thrown;
		// That it knows no base64 is no reason for its caller to go without.
		const inTime: Call = { ...call, target: { ...target, timeouts: { ...timeouts, totalMs: leftMs } } };
		const answer = await embed(asNumbers, inTime);
		knowNoBase64.add(target.url);
		return answer;
	}
}

/** The engine's own: FastAPI's findings quote the request, as their `input`. */
const wordsOf = ({ body }: Refusal): string =>
	JSON.stringify(body, (name, value) => (name === "input" ? undefined : value)) ?? "";

async function embed(
	{ texts, dimensions, truncate, encoding }: EmbeddingsInput,
	call: Call,
): Promise<Answer<"text-embeddings">> {
	const cut: string[] = [];
	const { data, usage } = await postJson(
		call,
		"/embeddings",
		{
			model: call.target.model,
			input: texts,
			encoding_format: encoding ?? "float",
			dimensions,
			// vLLM's: cut at the model's own length.
			...(truncate && !isOpenAiService(call.target) && { truncate_prompt_tokens: -1 }),
		},
		EmbeddingsReply,
		{ parse: (text) => cutVectors(text, cut) },
	);
	// Some engines write numbers whatever was asked.
	const as = encoding && data.every(({ embedding }) => typeof embedding === "string") ? encoding : "json";
	const placed = data.map(({ index, embedding }, place) => ({
		at: index ?? place,
		row: typeof embedding === "string" ? base64In(embedding, as) : cut[embedding.row],
	}));
	const places = new Set(placed.map(({ at }) => at).filter((at) => at < texts.length));
	const rows = placed.sort((a, b) => a.at - b.at).flatMap(({ row }) => row ?? []);
	const failure = () => failureOfShape(call, `${texts.length} embeddings`);
	/** What is no number after all is the engine's fault. */
	const reading = <Value>(read: () => Value): Value => {
		try {
			return read();
		} catch {
			throw failure();
		}
	};
	const [first] = rows;
	if (data.length !== texts.length || places.size !== texts.length || rows.length !== texts.length)
		throw failure();
	const length = first === undefined ? 0 : reading(() => lengthOf(as, first));
	const written: WrittenVectors = { as, rows, length };
	return {
		kind: "value",
		output: {
			get vectors() {
				return reading(() => numbersOf(written));
			},
			written,
			...(usage && { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }),
		},
	};
}

/** Where it is that. */
const base64In = (sent: string, as: WrittenVectors["as"]): string | undefined =>
	as === "base64" && floatsIn(sent) ? sent : undefined;
