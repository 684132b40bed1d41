/** The official `cloudflare` REST SDK as it is published, with only its `baseURL` changed. */
import Cloudflare from "cloudflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACCOUNT, type StartedGateway, startGateway } from "./gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const account_id = ACCOUNT;

let gateway: StartedGateway;
let client: Cloudflare;
beforeAll(async () => {
	gateway = await startGateway();
	client = new Cloudflare({ baseURL: gateway.baseURL, apiToken: "none", maxRetries: 0 });
}, 60_000);
afterAll(() => gateway?.stop());

describe("cloudflare SDK", () => {
	it("runs text models", async () => {
		const answer = await client.ai.run(LLAMA, { account_id, prompt: "My name is Alice. What is my name?" });
		expect(answer).toMatchObject({
			response: expect.stringContaining("Alice"),
			usage: { total_tokens: expect.any(Number) },
		});
	});

	it("runs every kind of task that takes JSON", async () => {
		const run = (model: string, inputs: object) =>
			client.ai.run(model, { account_id, ...inputs } as Cloudflare.AI.AIRunParams) as Promise<unknown>;
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
		expect(await run("@cf/myshell-ai/melotts", { prompt: "Hello" })).toMatchObject({
			audio: expect.any(String),
		});
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
