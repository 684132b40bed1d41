import { createWorkersAiChat, createWorkersAiImage, createWorkersAiSummarize } from "@cloudflare/tanstack-ai";
import { chat, generateImage } from "@tanstack/ai";
import { imageSize } from "image-size";
import { describe, expect, it } from "vitest";
import { tanstackAi } from "../suites/tanstack-ai.ts";
import { AI } from "./ai.ts";

tanstackAi("binding", () => ({ binding: AI, maxRetries: 0 }));

describe("tanstack-ai by a gateway of the binding", () => {
	const config = { binding: AI.gateway("my-gateway"), maxRetries: 0 };
	const messages = [{ role: "user" as const, content: "Reply with exactly: Your name is Alice." }];

	it("chats with models of OpenAI's form", async () => {
		const adapter = createWorkersAiChat("@cf/moonshotai/kimi-k2.6", config);
		expect(await chat({ adapter, messages, stream: false })).toContain("Alice");
	});

	it("cannot read native events", async () => {
		// https://github.com/cloudflare/ai/issues/543
		const adapter = createWorkersAiChat("@cf/meta/llama-3.3-70b-instruct-fp8-fast", config);
		expect(await chat({ adapter, messages, stream: false })).toBe("");
	});

	it("paints, and sums up", async () => {
		const painter = createWorkersAiImage("@cf/stabilityai/stable-diffusion-xl-base-1.0", config);
		const { images } = await generateImage({ adapter: painter, prompt: "a red fox", size: "512x256" });
		const image = Buffer.from(images[0]?.b64Json ?? "", "base64");
		expect(imageSize(image)).toMatchObject({ width: 512, height: 256 });
		const summarizer = createWorkersAiSummarize("@cf/facebook/bart-large-cnn", config);
		const text = "The old lighthouse stood on a cliff. Ships relied on the lighthouse for years. It rained.";
		expect((await summarizer.summarize({ model: "", text } as never)).summary).toContain("lighthouse");
	});
});
