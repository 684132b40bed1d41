import { describe, expect, it } from "vitest";
import recorded from "../../fixtures/openai/llama-cpp/embeddings.json?raw";
import { failureOf, json } from "../upstream.ts";
import { ask, OPENAI, outputOf } from "./ask.ts";

const INPUT = { texts: ["a", "b c"] };
const at = (index: number | undefined, embedding: unknown) => ({ object: "embedding", index, embedding });

describe("embeddings", () => {
	it("are asked for in one batch, as numbers", async () => {
		const asking = ask("text-embeddings", { ...INPUT, dimensions: 64 }, () => json(recorded));
		await asking.answer;
		expect(asking.call.asked[0]?.url).toBe("http://engine.test/v1/embeddings");
		expect(asking.call.asked[0]?.json).toEqual({
			model: "engine-model",
			input: ["a", "b c"],
			encoding_format: "float",
			dimensions: 64,
		});
	});

	it("are cut at the model's length where that was asked for, and the engine can be told", async () => {
		const engine = ask("text-embeddings", { ...INPUT, truncate: true }, () => json(recorded));
		await engine.answer;
		expect(engine.call.asked[0]?.json.truncate_prompt_tokens).toBe(-1);
		const service = ask("text-embeddings", { ...INPUT, truncate: true }, () => json(recorded), OPENAI);
		await service.answer;
		expect(service.call.asked[0]?.json).not.toHaveProperty("truncate_prompt_tokens");
	});

	it("of llama.cpp are read with their usage", async () => {
		const { data } = JSON.parse(recorded);
		expect(await outputOf(ask("text-embeddings", INPUT, () => json(recorded)))).toEqual({
			vectors: [data[0].embedding, data[1].embedding],
			usage: { prompt_tokens: 4, total_tokens: 4 },
		});
	});

	it("are put in the order of the texts", async () => {
		const data = [at(1, [2]), at(0, [1])];
		expect(await outputOf(ask("text-embeddings", INPUT, () => json({ data })))).toEqual({
			vectors: [[1], [2]],
		});
	});

	it("without places are taken in their order", async () => {
		const data = [at(undefined, [1]), at(undefined, [2])];
		expect(await outputOf(ask("text-embeddings", INPUT, () => json({ data })))).toEqual({
			vectors: [[1], [2]],
		});
	});

	it.each([
		["too few", [at(0, [1])]],
		["too many", [at(0, [1]), at(1, [2]), at(2, [3])]],
		["the same twice", [at(0, [1]), at(0, [2])]],
		["one out of place", [at(0, [1]), at(7, [2])]],
		// An array with this place in it takes longer than a test may.
		["one far out of place", [at(0, [1]), at(300_000_000, [2])]],
		["one before the first", [at(-1, [1]), at(1, [2])]],
		["one empty", [at(0, [1]), at(1, [])]],
		["one in base64", [at(0, [1]), at(1, "AACAPw==")]],
	])("that are %s are refused", async (_, data) => {
		expect(await failureOf(ask("text-embeddings", INPUT, () => json({ data })).answer)).toMatchObject({
			key: "executionFailed",
		});
	});
});
