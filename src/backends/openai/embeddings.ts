/** https://platform.openai.com/docs/api-reference/embeddings. How token vectors are pooled is the engine's to say. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings.ts";
import { postJson } from "../http.ts";
import { type Call, failureOfShape } from "../upstream-failure.ts";
import { isOpenAiService } from "./service.ts";
import { UsageReply, usageOf } from "./usage.ts";

const EmbeddingsReply = z.looseObject({
	data: z.array(
		z.looseObject({ index: z.int().nonnegative().nullish(), embedding: z.array(z.number()).min(1) }),
	),
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
	const vectors: (number[] | undefined)[] = texts.map(() => undefined);
	for (const [place, { index, embedding }] of data.entries()) vectors[index ?? place] = embedding;
	const complete = vectors.filter((vector) => vector !== undefined);
	if (data.length !== texts.length || complete.length !== texts.length || vectors.length !== texts.length)
		throw failureOfShape(call, `${texts.length} embeddings`);
	const counted = usageOf(usage);
	return {
		kind: "value",
		output: {
			vectors: complete,
			...(counted && {
				usage: { prompt_tokens: counted.prompt_tokens, total_tokens: counted.total_tokens },
			}),
		},
	};
}
