/** https://platform.openai.com/docs/api-reference/embeddings. How token vectors are pooled is the engine's to say. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings.ts";
import { postJson } from "../http.ts";
import { type Call, failureOfShape } from "../upstream-failure.ts";
import { isOpenAiService } from "./service.ts";
import { UsageReply, usageOf } from "./usage.ts";

/** Looked at number by number, a hundred of them are forty thousand calls of a schema. */
const Vector = z.custom<number[]>(
	(sent) => Array.isArray(sent) && sent.length > 0 && sent.every((value) => typeof value === "number"),
);

const EmbeddingsReply = z.looseObject({
	data: z.array(z.looseObject({ index: z.int().nonnegative().nullish(), embedding: Vector })),
	usage: UsageReply.nullish(),
});

export async function embedTexts(input: EmbeddingsInput, call: Call): Promise<Answer<"text-embeddings">> {
	const { texts, dimensions, truncate } = input;
	const { data, usage } = await postJson(
		call,
		"/embeddings",
		{
			model: call.target.model,
			input: texts,
			encoding_format: "float",
			dimensions,
			// vLLM's: cut at the model's own length.
			...(truncate && !isOpenAiService(call.target) && { truncate_prompt_tokens: -1 }),
		},
		EmbeddingsReply,
	);
	const placed = data.map(({ index, embedding }, place) => ({ at: index ?? place, embedding }));
	const places = new Set(placed.map(({ at }) => at).filter((at) => at < texts.length));
	if (data.length !== texts.length || places.size !== texts.length)
		throw failureOfShape(call, `${texts.length} embeddings`);
	const counted = usageOf(usage);
	return {
		kind: "value",
		output: {
			vectors: placed.sort((a, b) => a.at - b.at).map(({ embedding }) => embedding),
			...(counted && {
				usage: { prompt_tokens: counted.prompt_tokens, total_tokens: counted.total_tokens },
			}),
		},
	};
}
