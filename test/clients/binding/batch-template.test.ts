/**
 * The calls of the product's published template of batches (craigsdennis/batch-please-workers-ai, `src/index.ts`), with its models: one of them is an
 * alias here, because no catalogue lists it, and a poll may name any model.
 */
import { expect, it } from "vitest";
import { TEMPLATE_MODEL } from "../batch-template.ts";
import { AI } from "./ai.ts";

/** The template's models and options are not in the published types of `Ai`. */
const run = AI.run.bind(AI) as unknown as (
	model: string,
	inputs: object,
	options?: object,
) => Promise<Record<string, unknown>>;

interface Done {
	responses: {
		id: number;
		success: boolean;
		external_reference: string | null;
		result: { response: string };
	}[];
}

const prompts = ["Reply with exactly: one", "Reply with exactly: two"];

it("runs one request", async () => {
	const answer = await run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", {
		prompt: "What's that song that goes 'all the single ladies'?",
	});
	expect(answer.response).toEqual(expect.any(String));
});

it("answers a batch at once without queueRequest", async () => {
	const requests = prompts.map((prompt) => ({ prompt }));
	const answer = (await run(TEMPLATE_MODEL, { requests }, { queueRequest: false })) as unknown as Done;
	expect(answer.responses).toMatchObject([
		{ id: 0, success: true, result: { response: expect.stringContaining("one") } },
		{ id: 1, success: true, result: { response: expect.stringContaining("two") } },
	]);
});

it("queues a batch with references, and is polled at another model", { timeout: 60_000 }, async () => {
	const requests = ["ada", "bob"].map((name) => ({
		prompt: `Reply with exactly: hola ${name}`,
		external_reference: name,
	}));
	const queued = await run(TEMPLATE_MODEL, { requests }, { queueRequest: true });
	expect(queued).toMatchObject({ status: "queued", request_id: expect.any(String) });
	const check = () => run("@cf/meta/llama-3.3-70b-instruct-batch", { request_id: queued.request_id });
	await expect
		.poll(async () => "responses" in (await check()), { timeout: 50_000, interval: 200 })
		.toBe(true);
	const { responses } = (await check()) as unknown as Done;
	expect(responses.map((response) => [response.external_reference, response.result.response])).toEqual([
		["ada", expect.stringContaining("hola ada")],
		["bob", expect.stringContaining("hola bob")],
	]);
});

it("generates examples with a schema", async () => {
	const items = { type: "string", description: "A short prompt that a user might ask an LLM" };
	const answer = await run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", {
		prompt: "Generate 10 prompts that someone might ask an LLM",
		response_format: {
			type: "json_schema",
			json_schema: {
				type: "object",
				properties: { prompts: { type: "array", items } },
				required: ["prompts"],
			},
		},
	});
	expect(answer.response).toMatchObject({ prompts: expect.any(Array) });
});
