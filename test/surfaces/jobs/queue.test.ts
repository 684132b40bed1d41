/** A batch that the Worker's own queue runs. */
import { exports } from "cloudflare:workers";
import OpenAI, { toFile } from "openai";
import { expect, it } from "vitest";
import { chat, jsonLines } from "./batch-runs.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

it("a batch runs in the queue, more lines than one run of the queue takes", { timeout: 60_000 }, async () => {
	const account = crypto.randomUUID();
	const worker = exports as unknown as { default: Fetcher };
	const openai = new OpenAI({
		apiKey: "none",
		baseURL: `http://localhost/client/v4/accounts/${account}/ai/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: (url, init) => worker.default.fetch(String(url), init as RequestInit),
	});
	const count = 500;
	const lines = Array.from({ length: count }, (_, index) =>
		chat(String(index), { model: LLAMA, max_tokens: 1 }),
	);
	const file = await openai.files.create({
		purpose: "batch",
		file: await toFile(Buffer.from(jsonLines(lines)), "requests.jsonl"),
	});
	const { id } = await openai.batches.create({
		input_file_id: file.id,
		endpoint: "/v1/chat/completions",
		completion_window: "24h",
	});
	await expect
		.poll(async () => (await openai.batches.retrieve(id)).status, { timeout: 50_000, interval: 100 })
		.toBe("completed");
	const done = await openai.batches.retrieve(id);
	expect(done.request_counts).toEqual({ total: count, completed: count, failed: 0 });
	const output = await (await openai.files.content(done.output_file_id ?? "")).text();
	const ids = output
		.trimEnd()
		.split("\n")
		.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
	expect(ids).toEqual(lines.map(({ custom_id }) => custom_id));
});
