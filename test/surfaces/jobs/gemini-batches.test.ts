/** Batches of Google's Gemini API. The test runs the work of the queue itself; test/clients has the published client. */
import { describe, expect, it } from "vitest";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, MODEL } from "./batch-runs.ts";

const request = (text: string, fields: object = {}) => ({
	request: { contents: [{ role: "user", parts: [{ text }] }], ...fields },
});

function started(vars: Record<string, unknown> = ENGINE_VARS) {
	const { fetch } = upstream(async (sent) => {
		const { messages } = await sent.json<{ messages: { content: unknown }[] }>();
		return Response.json(completion(`Answer to ${JSON.stringify(messages.at(-1)?.content)}`));
	});
	const gateway = batches({ vars, fetch });
	const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
		const response = await gateway.app.request(`http://localhost${path}`, {
			method,
			headers: { "x-goog-api-key": "none", ...headers, ...(body && { "content-type": "application/json" }) },
			...(body && { body: JSON.stringify(body) }),
		});
		return { status: response.status, value: JSON.parse(await response.text()) };
	};
	const create = (requests: readonly unknown[], model = MODEL, method = "batchGenerateContent") =>
		call("POST", `/v1beta/models/${model}:${method}`, {
			batch: { displayName: "nightly", inputConfig: { requests: { requests } } },
		});
	return { ...gateway, call, create };
}

describe("a batch of Gemini's API", () => {
	it("has the results in the order of the requests, with their metadata", async () => {
		const { create, call, runAll } = started();
		const { value } = await create([
			{ ...request("One"), metadata: { key: "first" } },
			{ request: { contents: "none" } },
			request("Three"),
		]);
		expect(value).toMatchObject({
			name: expect.stringMatching(/^batches\/gemini-[\da-f]{32}$/),
			metadata: {
				state: "BATCH_STATE_PENDING",
				model: `models/${MODEL}`,
				displayName: "nightly",
				batchStats: { requestCount: "3", pendingRequestCount: "3" },
			},
			done: false,
		});
		const path = `/v1beta/${value.name}`;
		expect((await call("DELETE", path)).status).toBe(400);
		await runAll();
		const done = (await call("GET", path)).value;
		expect(done).toMatchObject({
			done: true,
			metadata: { state: "BATCH_STATE_SUCCEEDED", endTime: expect.any(String) },
		});
		const results = done.metadata.output.inlinedResponses.inlinedResponses;
		expect(results).toMatchObject([
			{
				metadata: { key: "first" },
				response: { candidates: [{ content: { parts: [{ text: expect.stringContaining("One") }] } }] },
			},
			{ error: { code: 3, message: expect.stringContaining("contents") } },
			{ response: { candidates: [{ content: { parts: [{ text: expect.stringContaining("Three") }] } }] } },
		]);
		expect(results).toHaveLength(3);
		expect(done.response.inlinedResponses.inlinedResponses).toEqual(results);
		// The SDK of Google calls the addresses below /v1.
		expect((await call("GET", `/v1/${value.name}`)).value.name).toBe(value.name);
		expect(await call("DELETE", path)).toEqual({ status: 200, value: {} });
		expect(await call("GET", path)).toMatchObject({ status: 404, value: { error: { status: "NOT_FOUND" } } });
	});

	it("embeds texts", async () => {
		const { create, call, runAll } = started({ DEFAULT_BACKEND: "simulator" });
		const texts = ["One", "Two"].map((text) => ({ request: { content: { parts: [{ text }] } } }));
		const { value } = await create(texts, "@cf/baai/bge-m3", "asyncBatchEmbedContent");
		await runAll();
		const { metadata } = (await call("GET", `/v1beta/${value.name}`)).value;
		expect(metadata.output.inlinedEmbedContentResponses.inlinedResponses).toMatchObject([
			{ response: { embedding: { values: expect.any(Array) } } },
			{ response: { embedding: { values: expect.any(Array) } } },
		]);
	});

	it("that is cancelled tells it, and is listed for clients of Google only", async () => {
		const { create, call, runAll, openai } = started();
		const { value } = await create([request("One")]);
		expect(await call("POST", `/v1beta/${value.name}:cancel`)).toEqual({ status: 200, value: {} });
		await runAll();
		const { operations } = (await call("GET", "/v1/batches?pageSize=5")).value;
		expect(operations).toMatchObject([
			{ name: value.name, done: true, metadata: { state: "BATCH_STATE_CANCELLED" } },
		]);
		const { metadata } = (await call("GET", `/v1beta/${value.name}`)).value;
		expect(metadata.output.inlinedResponses.inlinedResponses).toMatchObject([{ error: { code: 1 } }]);
		expect((await openai.batches.list()).data).toEqual([]);
		expect((await call("POST", `/v1beta/${value.name}:start`)).status).toBe(404);
	});

	it("is not created from an invalid body", async () => {
		const { call, create } = started();
		expect(await create([])).toMatchObject({
			status: 400,
			value: { error: { status: "INVALID_ARGUMENT", message: expect.stringContaining("requests.requests") } },
		});
		const ofFile = { batch: { inputConfig: { fileName: "files/one" } } };
		expect(await call("POST", `/v1beta/models/${MODEL}:batchGenerateContent`, ofFile)).toMatchObject({
			status: 400,
			value: { error: { message: expect.stringContaining("files are no input of batches here") } },
		});
	});
});
