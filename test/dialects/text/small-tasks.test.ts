/** Properties of the readers of small tasks, for any inputs. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { Reader } from "../../../src/dialects/dialect.ts";
import { decisionReader } from "../../../src/dialects/text/decision.ts";
import { embeddingsReaders } from "../../../src/dialects/text/embeddings.ts";
import { openaiEmbeddings } from "../../../src/dialects/text/openai-embeddings.ts";
import { rerankReader } from "../../../src/dialects/text/reranking.ts";
import { textTransformReaders } from "../../../src/dialects/text/text-transforms.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { InputShape } from "../../../src/models/family.ts";
import type { Model } from "../../../src/models/model.ts";
import { read } from "../read-write.ts";

const READERS: Partial<Record<InputShape, Reader>> = {
	...embeddingsReaders,
	...textTransformReaders,
	rerank: rerankReader,
	"decision-clef": decisionReader,
};
const cases = PRODUCT_MODELS.flatMap((model): [Model, Reader][] => {
	const reader = READERS[model.input];
	if (!reader) return [];
	return model.task === "Text Embeddings"
		? [
				[model, reader],
				[model, openaiEmbeddings.reader],
			]
		: [[model, reader]];
});

const FIELDS = [
	"text query contexts top_k pooling truncate_inputs queries documents instruction input_text max_length",
	"source_lang target_lang target_language model state questions images audio videos input encoding_format",
	"dimensions type instructions criteria content_type base64 q __proto__",
].flatMap((line) => line.split(" "));
const VALUES = [
	"",
	"a",
	"clef",
	"clef-omni",
	"noul",
	"choice",
	"score",
	"mean",
	"base64",
	"data:image/png;base64,AA==",
];
const { json } = fc.letrec((tie) => ({
	json: fc.oneof(
		{ depthSize: "medium", withCrossShrink: true },
		fc.constantFrom<unknown>(null, true, 0, 1, -1, 1.5, 1e300, ...VALUES),
		fc.array(tie("json"), { maxLength: 4 }),
		fc.dictionary(fc.constantFrom(...FIELDS), tie("json"), { maxKeys: 6 }),
	),
}));

describe("the readers of small tasks", () => {
	it("cover their models", () => {
		expect(cases.length).toBeGreaterThanOrEqual(24);
	});

	it("return a call or a client error for any JSON", () => {
		fc.assert(
			fc.property(fc.constantFrom(...cases), fc.oneof(json, fc.jsonValue()), ([model, reader], sent) => {
				try {
					const { call } = read(reader, model, sent);
					if (call.task === "text-embeddings") expect(call.input.texts.length).toBeGreaterThan(0);
				} catch (error) {
					if (!(error instanceof AiError)) throw error;
					expect(error.key).toBe("badInput");
					expect(error.description).toMatch(/^Error: ./);
				}
			}),
			{ numRuns: 500 },
		);
	});
});
