import { describe, expect, it } from "vitest";
import embed from "../../fixtures/ollama/embed.json?raw";
import embedTwo from "../../fixtures/ollama/embed-two.json?raw";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask } from "./ask.ts";

const zeros = (length: number): number[] => new Array(length).fill(0);
/** The second vector has another width than the first. */
const twoWidths = (first: number): string => JSON.stringify({ embeddings: [zeros(first), zeros(5)] });

describe("embeddings", () => {
	it("have the token count", async () => {
		const asking = ask("text-embeddings", { texts: ["Why?"], truncate: false, dimensions: 10 }, () =>
			json(embed),
		);
		expect(await outputOf(asking)).toEqual({
			vectors: JSON.parse(embed).embeddings,
			usage: { prompt_tokens: 8, total_tokens: 8 },
		});
		expect(asking.call.requests[0]).toMatchObject({
			url: "http://localhost:11434/api/embed",
			json: { model: "llama3.2", input: ["Why?"], truncate: false, dimensions: 10 },
		});
	});

	it("are in the order of the texts", async () => {
		const { vectors, usage } = await outputOf(
			ask("text-embeddings", { texts: ["a", "b"] }, () => json(embedTwo)),
		);
		expect(vectors).toEqual(JSON.parse(embedTwo).embeddings);
		expect(usage).toBeUndefined();
	});

	it.each([
		[{ dimensions: 3 }, {}, 3],
		[{}, { model: { dimensions: 1024 } }, 1024],
	])("of another width fail, so that another target is tried: %j", async (input, options, width) => {
		const { answer } = ask(
			"text-embeddings",
			{ texts: ["a", "b"], ...input },
			() => json(twoWidths(width)),
			options,
		);
		expect(await failureOf(answer)).toMatchObject({
			key: "executionFailed",
			description: `The backend 'lab' answered with vectors of 5 numbers, not of ${width}`,
			retryable: true,
		});
	});

	it.each([embed, '{"embeddings":[[],[]]}', '{"embedding":[1]}'])(
		"that are not two are refused: %s",
		async (text) => {
			const { answer } = ask("text-embeddings", { texts: ["a", "b"] }, () => json(text));
			expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
		},
	);
});
