/** The chat and text models of `@langchain/cloudflare`, with only their `baseUrl` changed. They read native replies. */
import { ChatCloudflareWorkersAI, CloudflareWorkersAI } from "@langchain/cloudflare";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

const baseURL = inject("baseURL");
const fields = {
	model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	cloudflareAccountId: ACCOUNT,
	cloudflareApiToken: "none",
	baseUrl: `${baseURL}/accounts/${ACCOUNT}/ai/run`,
	maxRetries: 0,
};

describe("ChatCloudflareWorkersAI", () => {
	const model = new ChatCloudflareWorkersAI(fields);

	it("chats, and recalls an earlier turn", async () => {
		const { content } = await model.invoke([
			["system", "You are brief."],
			["human", "My name is Alice."],
			["ai", "Hello!"],
			["human", "Reply with exactly: Your name is Alice."],
		]);
		expect(content).toBe("Your name is Alice.");
	});

	it("streams in pieces", async () => {
		const pieces: unknown[] = [];
		for await (const { content } of await model.stream("Reply with exactly: Your name is Alice."))
			pieces.push(content);
		expect(pieces).toEqual(["Your", " name", " is", " Alice", ".", ""]);
		const events: string[] = [];
		for await (const { event } of model.streamEvents("Reply with exactly: Your name is Alice.", {
			version: "v2",
		}))
			events.push(event);
		expect(events).toContain("on_chat_model_stream");
		const whole = await new ChatCloudflareWorkersAI({ ...fields, streaming: true }).invoke(
			"Reply with exactly: Your name is Alice.",
		);
		expect(whole.content).toBe("Your name is Alice.");
	});

	it("goes into a chain, and takes several at once", async () => {
		const chain = ChatPromptTemplate.fromTemplate("Reply with exactly: Your name is {name}.")
			.pipe(model)
			.pipe(new StringOutputParser());
		expect(await chain.batch([{ name: "Alice" }, { name: "Bob" }])).toEqual([
			"Your name is Alice.",
			"Your name is Bob.",
		]);
	});

	it("stops when it is aborted", async () => {
		const leaving = new AbortController();
		const reading = async () => {
			const stream = await model.stream("Tell me a long story about the sea.", { signal: leaving.signal });
			for await (const _ of stream) leaving.abort();
		};
		await expect(reading()).rejects.toThrow(/abort/i);
	});

	it("tells a failure by its status", async () => {
		const unknown = new ChatCloudflareWorkersAI({ ...fields, model: "@cf/meta/nothing" });
		await expect(unknown.invoke("Hi")).rejects.toThrow("Cloudflare LLM call failed with status code 400");
	});
});

describe("CloudflareWorkersAI", () => {
	it("completes, whole and streamed", async () => {
		const model = new CloudflareWorkersAI(fields);
		expect(await model.invoke("Reply with exactly: Your name is Alice.")).toBe("Your name is Alice.");
		const pieces: string[] = [];
		for await (const piece of await model.stream("Reply with exactly: Your name is Alice."))
			pieces.push(piece);
		expect(pieces).toEqual(["Your", " name", " is", " Alice", ".", ""]);
	});
});
