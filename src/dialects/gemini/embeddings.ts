/**
 * `embedContent` and `batchEmbedContents` (https://ai.google.dev/api/embeddings), for every embedding model. `model` of the body is
 * ignored: the address names it. `taskType` and `title` are accepted and ignored.
 *
 * Differences from Google: only text is embedded; the requests of a batch have one `outputDimensionality`.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import type { Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { EmbeddingsOutput } from "../../tasks/text-embeddings/index.ts";
import type { Dialect } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import { maxTexts, renderVectors } from "../text/embeddings.ts";
import { nativeDefaults } from "../text/openai-embeddings.ts";
import { SentContent } from "./contents.ts";
import { camelKeys } from "./keys.ts";

const Single = z.looseObject({
	content: SentContent,
	outputDimensionality: z.number().int().min(1).nullish(),
});
type Single = z.output<typeof Single>;

const Batch = (model: Model) => z.looseObject({ requests: z.array(Single).min(1).max(maxTexts(model)) });
type Batch = z.output<ReturnType<typeof Batch>>;

export const geminiEmbedding: Dialect = {
	reader: {
		schema: () => z.preprocess(camelKeys, Single),
		read: (request: Single, model) => callOf([{ request, at: "content" }], model),
	},
	writer: writerOf(([values = []]) => ({ embedding: { values } })),
};

export const geminiEmbeddings: Dialect = {
	reader: {
		isBatch: true,
		schema: perModel((model) => z.preprocess(camelKeys, Batch(model))),
		read: ({ requests }: Batch, model) =>
			callOf(
				requests.map((request, index) => ({ request, at: `requests[${index}].content` })),
				model,
			),
	},
	writer: writerOf((vectors) => ({ embeddings: vectors.map((values) => ({ values })) })),
};

interface PlacedRequest {
	request: Single;
	/** `requests[1].content` */
	at: string;
}

function callOf(placed: readonly PlacedRequest[], model: Model): TaskCall {
	const lengths = new Set(placed.map(({ request }) => request.outputDimensionality ?? undefined));
	if (lengths.size > 1) throw invalidInput("requests: outputDimensionality must be the same in all of them");
	const [dimensions] = lengths;
	return {
		task: "text-embeddings",
		input: {
			texts: placed.map(textOf),
			...present({ dimensions }),
			...nativeDefaults(model),
		},
	};
}

function textOf({ request: { content }, at }: PlacedRequest): string {
	const texts = (content.parts ?? []).map((part, index) => {
		if (typeof part.text !== "string") throw invalidInput(`${at}.parts[${index}]: only text can be embedded`);
		return part.text;
	});
	if (texts.length === 0) throw invalidInput(`${at}.parts: there is nothing in them`);
	return texts.join("\n");
}

function writerOf(write: (vectors: number[][]) => object): Dialect["writer"] {
	return {
		write(answer) {
			const output = outputValue("text-embeddings", answer);
			return renderVectors(output, (vectors) => ({ ...write(vectors), ...usageMetadata(output) }));
		},
	};
}

const usageMetadata = ({ usage }: EmbeddingsOutput): object =>
	usage ? { usageMetadata: { promptTokenCount: usage.prompt_tokens } } : {};
