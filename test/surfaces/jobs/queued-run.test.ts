/** The product's asynchronous queue, over REST, the binding's protocol and RPC. */
import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { CALLER, completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches } from "./batch-runs.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const REQUESTS = [
	{ prompt: "One", external_reference: "first" },
	{ prompt: 1 },
	{ prompt: "Three", external_reference: "third" },
];
interface Ack {
	status: string;
	request_id: string;
	model: string;
}
interface Results {
	responses: { id: number; success: boolean; external_reference: string | null }[];
	usage: object;
}

function world() {
	const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
	const gateway = batches({ vars: ENGINE_VARS, fetch });
	const { services, post } = gateway;
	const rpc = new (entrypoint(() => ({ services, allowAnonymous: true })))(createExecutionContext(), {
		account: "local",
	});
	(rpc as unknown as { ctx: object }).ctx = { props: { account: "local" } };
	const rest = async (body: unknown, query = "?queueRequest=true") => {
		const response = await post(`/run/${LLAMA}${query}`, body);
		return { status: response.status, body: await response.json<Record<string, unknown>>() };
	};
	/** The model is in the body. */
	const universal = async (input: unknown, query = "") => {
		const response = await post(`/run${query}`, { model: LLAMA, input });
		return { status: response.status, body: await response.json<Record<string, unknown>>() };
	};
	const binding = async (inputs: unknown, options: object = {}) => {
		const response = await wireOf(services).fetch(
			new Request("http://workers-binding.ai/run?version=3", {
				method: "POST",
				body: JSON.stringify({ inputs, options }),
				headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
			}),
			{ caller: CALLER, origin: "http://gateway" },
		);
		return { status: response.status, body: await response.json<Record<string, unknown>>() };
	};
	return { ...gateway, requests, rest, universal, binding, rpc };
}

const RESULTS = {
	responses: [
		{ id: 0, success: true, result: { response: "Hello" }, external_reference: "first" },
		{ id: 1, success: false, error: { code: 5006 }, external_reference: null },
		{ id: 2, success: true, result: { response: "Hello" }, external_reference: "third" },
	],
	usage: { prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 },
};

describe("the asynchronous queue", () => {
	it("answers over REST, in the envelope", async () => {
		const { rest, runAll, requests } = world();
		const queued = await rest({ requests: REQUESTS });
		expect(queued).toMatchObject({
			status: 200,
			body: { success: true, errors: [], messages: [], result: { status: "queued", model: LLAMA } },
		});
		const { request_id } = queued.body.result as Ack;
		expect(request_id).toMatch(/^[\da-f-]{36}$/);
		expect((await rest({ request_id })).body.result).toEqual({ status: "queued", request_id });
		expect(requests).toHaveLength(0);
		await runAll();
		expect(await rest({ request_id })).toMatchObject({
			status: 200,
			body: { success: true, result: RESULTS },
		});
	});

	it("answers the binding, which polls without the option", async () => {
		const { binding, runAll, openai } = world();
		const queued = await binding({ requests: REQUESTS }, { queueRequest: true });
		expect(queued).toMatchObject({ status: 200, body: { status: "queued", model: LLAMA } });
		const { request_id } = queued.body as unknown as Ack;
		expect((await binding({ request_id })).body).toEqual({ status: "queued", request_id });
		await runAll();
		expect((await binding({ request_id })).body).toMatchObject(RESULTS);
		expect((await binding({ request_id }, { queueRequest: true })).body).toMatchObject(RESULTS);
		expect((await openai.batches.list()).data).toEqual([]);
		expect((await openai.files.list()).data).toEqual([]);
	});

	it("answers over RPC", async () => {
		const { rpc, runAll } = world();
		const ack = (await rpc.run(LLAMA, { requests: REQUESTS }, { queueRequest: true })) as Ack;
		expect(ack).toMatchObject({ status: "queued", model: LLAMA });
		await runAll();
		const { request_id } = ack;
		expect((await rpc.run(LLAMA, { request_id })) as Results).toMatchObject(RESULTS);
		const raw = await rpc.run(LLAMA, { request_id }, { returnRawResponse: true });
		expect(await (raw as Response).json()).toMatchObject(RESULTS);
	});

	it("is not needed for a few requests: REST, the binding and RPC answer them at once", async () => {
		const { binding, rest, rpc, queued, services } = world();
		const reply = await binding({ requests: REQUESTS }, { queueRequest: false });
		expect(reply).toMatchObject({ status: 200, body: RESULTS });
		expect((await rpc.run(LLAMA, { requests: REQUESTS })) as Results).toMatchObject(RESULTS);
		for (const query of ["", "?queueRequest=false"])
			expect(await rest({ requests: REQUESTS }, query)).toMatchObject({
				...{ status: 200, body: { success: true, errors: [], result: RESULTS } },
			});
		expect(queued).toEqual([]);
		const { requests } = await services.ledgers.of("local").requests({});
		expect(requests.map(({ outcome }) => outcome)).toEqual(Array(8).fill("ok"));
		const many = Array.from({ length: 101 }, () => ({ prompt: "One" }));
		expect((await binding({ requests: many })).body).toMatchObject({
			...{ internalCode: 8001, description: expect.stringMatching(/1 to 100 requests without queueRequest/) },
		});
		expect(await rest({ requests: many }, "")).toMatchObject({
			...{ status: 400, body: { errors: [{ code: 8001 }] } },
		});
		expect((await rest({ request_id: "1" }, "")).body).toMatchObject({ errors: [{ code: 8001 }] });
	});

	it("is the same with the model in the body", async () => {
		const { universal, runAll } = world();
		expect(await universal({ requests: REQUESTS })).toMatchObject({
			...{ status: 200, body: { success: true, errors: [], result: RESULTS } },
		});
		const { body } = await universal({ requests: REQUESTS }, "?queueRequest=true");
		const { request_id, status } = body.result as Ack;
		expect(status).toBe("queued");
		await runAll();
		expect((await universal({ request_id })).body.result).toMatchObject(RESULTS);
		expect(await universal({ requests: [] })).toMatchObject({
			status: 400,
			body: { errors: [{ code: 8001 }] },
		});
		expect(await universal({ prompt: "One" })).toMatchObject({ body: { result: { response: "Hello" } } });
	});

	it("bills each request in full, once", async () => {
		const { rest, runAll, services } = world();
		await rest({ requests: REQUESTS });
		await runAll();
		const { requests } = await services.ledgers.of("local").requests({});
		expect(requests.map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
	});

	it("has results as base64 for models that answer with bytes", async () => {
		const { runAll, post } = batches({});
		const path = "/run/@cf/stabilityai/stable-diffusion-xl-base-1.0?queueRequest=true";
		const ask = async (body: object) =>
			(await (await post(path, body)).json<{ result: Ack & { responses: { result: string }[] } }>()).result;
		const { request_id } = await ask({ requests: [{ prompt: "A lighthouse" }] });
		await runAll();
		const { responses } = await ask({ request_id });
		expect(
			Buffer.from(responses[0]?.result ?? "", "base64")
				.subarray(1, 4)
				.toString(),
		).toBe("PNG");
	});

	it.each<[string, unknown, RegExp]>([
		["no requests", { requests: [] }, /requests: expected 1 to 50000 requests/],
		["a request that is no object", { requests: ["a"] }, /requests\[0\]: expected an object/],
		["a stream", { requests: [{ prompt: "a", stream: true }] }, /requests\[0\]\.stream/],
		[
			"a reference that is no text",
			{ requests: [{ prompt: "a", external_reference: 1 }] },
			/external_reference/,
		],
		["an unknown request", { request_id: "1" }, /request_id: no such request: \\"1\\"/],
		["inputs of one run", { prompt: "Hi" }, /takes the inputs \{requests/],
	])("refuses %s", async (_, body, message) => {
		const { rest, binding } = world();
		const refused = await rest(body);
		expect(refused).toMatchObject({ status: 400, body: { errors: [{ code: 8001 }] } });
		expect(JSON.stringify(refused.body)).toMatch(message);
		expect((await binding(body, { queueRequest: true })).body).toMatchObject({ internalCode: 8001 });
	});

	it("does not show the requests of other accounts", async () => {
		const { rest, services } = world();
		const { request_id } = (await rest({ requests: REQUESTS })).body.result as Ack;
		const scope = { owner: "somebody", all: false };
		const found = await services.jobs.batches("local", (stored) =>
			stored.get(request_id, "workers-ai", scope),
		);
		expect(found).toMatchObject({ ok: false, missing: { foreign: true } });
	});
});
