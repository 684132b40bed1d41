import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/models/model.ts";
import type { EmbeddingsInput } from "../../../src/tasks/text-embeddings/index.ts";
import { run } from "./fixture.ts";

const m3: Partial<Model> = {
	id: "@cf/baai/bge-m3",
	input: "embeddings-m3",
	dimensions: 1024,
	maxInputTokens: 8192,
};
const embed = async (texts: string[], extra: Partial<EmbeddingsInput> = {}, model = m3) =>
	run("text-embeddings", { texts, ...extra }, model);
const dot = (a: number[] = [], b: number[] = []) =>
	a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

describe("vectors", () => {
	it("have the model's dimension, or the requested one", async () => {
		expect((await embed(["a"])).vectors[0]).toHaveLength(1024);
		expect((await embed(["a"], { dimensions: 256 })).vectors[0]).toHaveLength(256);
		await expect(embed(["a"], { dimensions: 4096 })).rejects.toMatchObject({ key: "engineRefused" });
		const { dimensions: _, ...unknown } = m3;
		expect((await embed(["a"], {}, unknown)).vectors[0]).toHaveLength(768);
		expect((await embed(["a"], { dimensions: 32 }, unknown)).vectors[0]).toHaveLength(32);
	});

	it("have length 1 for any text", async () => {
		await fc.assert(
			fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 200 }), async (text) => {
				const [vector] = (await embed([text])).vectors;
				expect(dot(vector, vector)).toBeCloseTo(1, 5);
			}),
		);
		for (const text of ["", " ", "!?", "\ud800"]) {
			const [vector] = (await embed([text])).vectors;
			expect(dot(vector, vector)).toBeCloseTo(1, 5);
		}
	});

	it("are the same for the same text, alone or among others", async () => {
		const [alone] = (await embed(["one text"])).vectors;
		expect((await embed(["another", "one text"])).vectors[1]).toEqual(alone);
	});

	it("are close for texts that share words or parts of words", async () => {
		const [asked, same, inflected, related, other] = (
			await embed([
				"How do I reset my password?",
				"how do i reset my password",
				"Resetting passwords",
				"To reset a forgotten password, open the settings.",
				"The octopus has three hearts.",
			])
		).vectors;
		expect(dot(asked, same)).toBeCloseTo(1, 5);
		expect(dot(asked, inflected)).toBeGreaterThan(dot(asked, related));
		expect(dot(asked, related)).toBeGreaterThan(dot(asked, other) + 0.15);
		expect(Math.abs(dot(asked, other))).toBeLessThan(0.2);
	});

	it("are close in scripts without spaces, too", async () => {
		const [a, b, c] = (await embed(["我喜欢喝咖啡", "我每天喝咖啡", "股票市场下跌"])).vectors;
		expect(dot(a, b)).toBeGreaterThan(dot(a, c) + 0.2);
	});

	it("differ between poolings and between models", async () => {
		const text = "the same words in each";
		const [mean] = (await embed([text])).vectors;
		const [cls] = (await embed([text], { pooling: "cls" })).vectors;
		const [other] = (await embed([text], {}, { ...m3, id: "@cf/baai/bge-large-en-v1.5" })).vectors;
		expect(Math.abs(dot(mean, cls))).toBeLessThan(0.3);
		expect(Math.abs(dot(mean, other))).toBeLessThan(0.3);
	});
});

it("counts tokens up to the model's limit", async () => {
	const short = { ...m3, maxInputTokens: 3 };
	const { vectors, usage } = await embed(["one two three", "one two three four five"], {}, short);
	expect(vectors[0]).toEqual(vectors[1]);
	expect(usage).toEqual({ prompt_tokens: 6, total_tokens: 6 });
});

it("embeds a hundred texts quickly", async () => {
	const texts = Array.from({ length: 100 }, (_, n) => `${n} ${"words of a usual paragraph, ".repeat(16)}`);
	const started = performance.now();
	expect((await embed(texts)).vectors).toHaveLength(100);
	expect(performance.now() - started).toBeLessThan(1000);
});
