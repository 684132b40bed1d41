/** `workers-ai-provider` beyond chat: embeddings, ranking, images, speech. */
import { embed, embedMany, generateImage, generateSpeech, rerank, transcribe } from "ai";
import { imageSize } from "image-size";
import { describe, expect, it } from "vitest";
import type { WorkersAI } from "workers-ai-provider";

export function workersAiProviderTasks(way: "REST" | "binding", connect: () => WorkersAI): void {
	describe(`workers-ai-provider by ${way}`, () => {
		it("embeds one text and many", async () => {
			const model = connect().textEmbedding("@cf/baai/bge-small-en-v1.5");
			const { embedding } = await embed({ model, value: "a small cat" });
			expect(embedding).toHaveLength(384);
			const { embeddings } = await embedMany({ model, values: ["a small cat", "quantum physics"] });
			expect(embeddings[0]).toEqual(embedding);
			expect(embeddings[1]).not.toEqual(embedding);
		});

		it("embeds more than one call may have", async () => {
			// Left to itself the provider sends up to 3,000 in one call; the models take 100.
			const embedder = (settings: { maxEmbeddingsPerCall?: number }) =>
				connect().textEmbedding("@cf/baai/bge-small-en-v1.5", settings);
			const values = Array.from({ length: 101 }, (_, index) => `text ${index}`);
			const { embeddings } = await embedMany({ model: embedder({ maxEmbeddingsPerCall: 100 }), values });
			expect(embeddings).toHaveLength(101);
			await expect(embedMany({ model: embedder({}), values, maxRetries: 0 })).rejects.toThrow("/text");
		});

		it("paints", async () => {
			// This model refuses a size.
			const model = connect().image("@cf/black-forest-labs/flux-1-schnell");
			const { images } = await generateImage({ model, prompt: "a red fox", n: 2 });
			expect(images.map(({ uint8Array }) => imageSize(uint8Array))).toMatchObject([
				{ width: 1024, height: 1024, type: "jpg" },
				{ width: 1024, height: 1024, type: "jpg" },
			]);
		});

		it("paints in the size asked for", async () => {
			const model = connect().image("@cf/stabilityai/stable-diffusion-xl-base-1.0");
			const painting = generateImage({ model, prompt: "a red fox", size: "512x256", maxRetries: 0 });
			// Without the binding the provider reads every answer as JSON, and this one is a PNG.
			if (way === "REST") await expect(painting).rejects.toThrow("is not valid JSON");
			else expect(imageSize((await painting).image.uint8Array)).toMatchObject({ width: 512, height: 256 });
		});

		it.each(["@cf/openai/whisper", "@cf/openai/whisper-large-v3-turbo", "@cf/deepgram/nova-3"])(
			"speaks, and hears it with %s",
			async (id) => {
				const { audio } = await generateSpeech({
					model: connect().speech("@cf/deepgram/aura-1"),
					text: "Good morning to you.",
					voice: "luna",
				});
				expect(audio.mediaType).toBe("audio/mpeg");
				const model = connect().transcription(id);
				const hearing = transcribe({ model, audio: audio.uint8Array, maxRetries: 0 });
				// With the binding the provider sends this model base64 in JSON, which the product refuses in these words.
				if (way === "binding" && id === "@cf/deepgram/nova-3") {
					await expect(hearing).rejects.toThrow(
						"5006: Error: required properties at '/audio' are 'body,contentType'",
					);
					return;
				}
				const { text, segments } = await hearing;
				expect(text).toBe("Good morning to you.");
				expect(segments.length).toBeGreaterThan(0);
			},
		);

		it("ranks documents", async () => {
			const { ranking, rerankedDocuments } = await rerank({
				model: connect().reranking("@cf/baai/bge-reranker-base"),
				query: "a cat that purrs",
				documents: ["stock markets fell", "the cat purrs", "a dog barks"],
				topN: 2,
			});
			expect(ranking.map(({ originalIndex }) => originalIndex)[0]).toBe(1);
			expect(rerankedDocuments).toHaveLength(2);
		});
	});
}
