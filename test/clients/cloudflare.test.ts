/** The official `cloudflare` REST SDK as it is published, with only its `baseURL` changed. */
import Cloudflare from "cloudflare";
import { describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";
import { RED_SQUARE } from "./suites/red-square.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const account_id = ACCOUNT;

const client = new Cloudflare({ baseURL: inject("baseURL"), apiToken: "none", maxRetries: 0 });

const run = (model: string, inputs: object) =>
	client.ai.run(model, { account_id, ...inputs } as Cloudflare.AI.AIRunParams) as Promise<unknown>;

describe("cloudflare SDK", () => {
	it("runs text models", async () => {
		const answer = await client.ai.run(LLAMA, {
			account_id,
			prompt: "Reply with exactly: Your name is Alice.",
		});
		expect(answer).toMatchObject({
			response: expect.stringContaining("Alice"),
			usage: { total_tokens: expect.any(Number) },
		});
	});

	it("queues requests, and polls for their answers", { timeout: 60_000 }, async () => {
		const words = ["one", "two"];
		const requests = words.map((word) => ({
			...{ prompt: `Reply with exactly: ${word}`, external_reference: word },
		}));
		const inQueue = (model: string, inputs: object): Promise<unknown> =>
			client.ai.run(model, { account_id, ...inputs } as unknown as Cloudflare.AI.AIRunParams, {
				query: { queueRequest: true },
			});
		const { request_id } = (await inQueue(LLAMA, { requests })) as { request_id: string };
		// As in the product's template of batches, the model of a poll may be another one.
		const poll = () => inQueue("@cf/meta/llama-3.3-70b-instruct-batch", { request_id });
		const isDone = async () => "responses" in ((await poll()) as object);
		await expect.poll(isDone, { timeout: 50_000, interval: 200 }).toBe(true);
		expect(await poll()).toMatchObject({
			responses: words.map((word) => ({
				...{ success: true, external_reference: word },
				result: { response: expect.stringContaining(word) },
			})),
		});
	});

	it("chats with turns, tools, schemas, images and thoughts", async () => {
		const user = (content: unknown) => ({ role: "user", content });
		const turns = [
			user("My name is Alice."),
			{ role: "assistant", content: "Hello!" },
			user("Reply with exactly: Your name is Alice."),
		];
		expect(await run(LLAMA, { messages: turns })).toMatchObject({ response: "Your name is Alice." });
		const parameters = { type: "object", properties: { city: { type: "string", description: "the city" } } };
		const tools = [{ name: "get_weather", description: "Get the weather of a city", parameters }];
		const named = [user('Use get_weather with {"city":"Paris"}')];
		expect(await run(LLAMA, { messages: named, tools })).toMatchObject({
			tool_calls: [{ name: "get_weather", arguments: { city: "Paris" } }],
		});
		const forced = { messages: [user("Hello")], tools, tool_choice: "required" };
		expect(await run(LLAMA, forced)).toMatchObject({ tool_calls: [{ name: "get_weather" }] });
		const results = [
			user('Use get_weather with {"city":"Paris"}'),
			{ role: "assistant", content: "", tool_calls: [{ name: "get_weather", arguments: { city: "Paris" } }] },
			{ role: "tool", name: "get_weather", content: "18 degrees" },
		];
		expect(await run(LLAMA, { messages: results, tools })).toMatchObject({
			response: expect.stringContaining("18 degrees"),
		});
		const json_schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
		const response_format = { type: "json_schema", json_schema };
		expect(await run(LLAMA, { messages: [user("Hello")], response_format })).toMatchObject({
			response: { name: "simulated name" },
		});
		const url = `data:image/png;base64,${Buffer.from(RED_SQUARE).toString("base64")}`;
		const parts = [
			{ type: "text", text: "What is in this image?" },
			{ type: "image_url", image_url: { url } },
		];
		expect(await run(KIMI, { messages: [user(parts)], reasoning_effort: "low" })).toMatchObject({
			choices: [
				{
					message: {
						content: expect.stringContaining("1 attachment"),
						reasoning_content: expect.any(String),
					},
				},
			],
		});
	});

	it("runs every kind of task that takes JSON", async () => {
		expect(await run("@cf/baai/bge-small-en-v1.5", { text: ["a", "b"] })).toMatchObject({ shape: [2, 384] });
		expect(
			await run("@cf/baai/bge-reranker-base", {
				query: "cats",
				contexts: [{ text: "dogs" }, { text: "cats purr" }],
			}),
		).toMatchObject({ response: [{ id: 1 }, { id: 0 }] });
		expect(await run("@cf/huggingface/distilbert-sst-2-int8", { text: "I love this." })).toMatchObject([
			{ label: "NEGATIVE" },
			{ label: "POSITIVE" },
		]);
		expect(await run("@cf/meta/m2m100-1.2b", { text: "Hello", target_lang: "fr" })).toMatchObject({
			translated_text: expect.any(String),
		});
		expect(await run("@cf/black-forest-labs/flux-1-schnell", { prompt: "a fox" })).toMatchObject({
			image: expect.any(String),
		});
		const { audio } = (await run("@cf/myshell-ai/melotts", { prompt: "Hello" })) as { audio: string };
		expect(await run("@cf/openai/whisper-large-v3-turbo", { audio })).toMatchObject({ text: "Hello" });
		const input_text = "Ships relied on the lighthouse. The lighthouse stood on a cliff. It rained.";
		expect(await run("@cf/facebook/bart-large-cnn", { input_text })).toMatchObject({
			summary: expect.stringContaining("lighthouse"),
		});
	});

	it("hands over what is not JSON as a response", async () => {
		const raw = (model: string, inputs: object) =>
			client.ai.run(model, { account_id, ...inputs } as Cloudflare.AI.AIRunParams).asResponse();
		const events = await raw(LLAMA, { prompt: "Reply with exactly: Your name is Alice.", stream: true });
		expect(await events.text()).toMatch(/^data: \{"response":"Your"[\s\S]*data: \[DONE\]\n\n$/);
		const image = await raw("@cf/stabilityai/stable-diffusion-xl-base-1.0", { prompt: "a fox" });
		expect(image.headers.get("content-type")).toBe("image/png");
		expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(1000);
	});

	it("stops when it is aborted", async () => {
		const leaving = new AbortController();
		const inputs = { account_id, prompt: "Tell me a long story about the sea.", stream: true };
		const response = await client.ai.run(LLAMA, inputs, { signal: leaving.signal }).asResponse();
		const reader = response.body?.getReader();
		await reader?.read();
		leaving.abort();
		await expect(reader?.closed).rejects.toMatchObject({ name: "AbortError" });
	});

	it("pages through the catalogue until it is empty", async () => {
		const names: unknown[] = [];
		for await (const model of client.ai.models.list({ account_id, per_page: 20 }))
			names.push((model as { name: string }).name);
		expect(names).toContain(LLAMA);
		expect(new Set(names).size).toBe(names.length);
	});

	it("asks for schemas, tasks and authors", async () => {
		expect(await client.ai.models.schema.get({ account_id, model: LLAMA })).toMatchObject({
			input: expect.any(Object),
			output: expect.any(Object),
		});
		const tasks: unknown[] = [];
		for await (const task of client.ai.tasks.list({ account_id })) tasks.push(task);
		expect(tasks).toContainEqual(expect.objectContaining({ name: "Text Generation" }));
		const authors: unknown[] = [];
		for await (const author of client.ai.authors.list({ account_id })) authors.push(author);
		expect(authors.length).toBeGreaterThan(10);
	});

	it("converts files", async () => {
		const files = [
			new File(["a,b\n1,2\n"], "a.csv", { type: "text/csv" }),
			new File(["%PDF"], "b.pdf", { type: "application/pdf" }),
		];
		const results: unknown[] = [];
		for await (const result of client.ai.toMarkdown.transform({ account_id, file: { files } }))
			results.push(result);
		expect(results).toMatchObject([
			{ name: "a.csv", format: "markdown", data: "| a | b |\n| --- | --- |\n| 1 | 2 |\n" },
			{ name: "b.pdf", format: "error" },
		]);
		const formats: unknown[] = [];
		for await (const format of client.ai.toMarkdown.supported({ account_id })) formats.push(format);
		expect(formats).toContainEqual({ extension: ".html", mimeType: "text/html" });
	});

	it("throws its own errors with our codes", async () => {
		await expect(client.ai.run("@cf/meta/nothing", { account_id, prompt: "Hi" })).rejects.toMatchObject({
			status: 400,
			errors: [{ code: 5007 }],
		});
	});
});
