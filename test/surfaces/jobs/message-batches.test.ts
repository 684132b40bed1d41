/** Batches of Anthropic's API. The test runs the work of the queue itself; test/clients has the published client. */
import { describe, expect, it } from "vitest";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, MODEL } from "./batch-runs.ts";

const VERSION = { "anthropic-version": "2023-06-01" };
const PATH = "/v1/messages/batches";

const request = (custom_id: string, fields: object = {}) => ({
	custom_id,
	params: {
		model: MODEL,
		max_tokens: 16,
		messages: [{ role: "user", content: `Question ${custom_id}` }],
		...fields,
	},
});

/** `vars`: beside those of the engine. */
function started(vars: Record<string, string> = {}) {
	const { fetch } = upstream(async (sent) => {
		const { messages } = await sent.json<{ messages: { content: unknown }[] }>();
		return Response.json(completion(`Answer to ${JSON.stringify(messages.at(-1)?.content)}`));
	});
	const gateway = batches({ vars: { ...ENGINE_VARS, ...vars }, fetch });
	const call = async (method: string, path: string, body?: object) => {
		const response = await gateway.app.request(`http://localhost${path}`, {
			method,
			headers: { ...VERSION, ...(body && { "content-type": "application/json" }) },
			...(body && { body: JSON.stringify(body) }),
		});
		return { status: response.status, text: await response.text() };
	};
	const json = async (method: string, path: string, body?: object) =>
		JSON.parse((await call(method, path, body)).text);
	return { ...gateway, call, json };
}

describe("a batch of messages", () => {
	it("can be deleted while a list of several pages is read", async () => {
		const { call, json, runAll } = started();
		const ids: string[] = [];
		for (const name of ["a", "b", "c"]) {
			ids.unshift((await json("POST", PATH, { requests: [request(name)] })).id);
			await runAll();
		}
		const first = await json("GET", `${PATH}?limit=2`);
		expect(first).toMatchObject({ has_more: true, last_id: ids[1] });
		for (const { id } of first.data) expect((await call("DELETE", `${PATH}/${id}`)).status).toBe(200);
		const next = await json("GET", `${PATH}?limit=2&after_id=${first.last_id}`);
		expect(next).toMatchObject({ data: [{ id: ids[2] }], has_more: false });
		expect(await call("GET", `${PATH}?after_id=msgbatch_none`)).toMatchObject({
			status: 400,
			text: expect.stringContaining('has no batch \\"msgbatch_none\\"'),
		});
	});

	it("has its results at PUBLIC_URL, so that a client behind a proxy sends its key over TLS", async () => {
		const { json, runAll } = started({ PUBLIC_URL: "https://ai.example.com" });
		const { id } = await json("POST", PATH, { requests: [request("a")] });
		await runAll();
		expect((await json("GET", `${PATH}/${id}`)).results_url).toBe(
			`https://ai.example.com${PATH}/${id}/results`,
		);
	});

	it("is created with a request that lacks max_tokens, which is errored alone", async () => {
		const { json, call, runAll } = started();
		const { id } = await json("POST", PATH, {
			requests: [request("a", { max_tokens: undefined }), request("b")],
		});
		await runAll();
		const { text } = await call("GET", `${PATH}/${id}/results`);
		const results = text.trimEnd().split("\n");
		expect(results.map((line) => JSON.parse(line))).toMatchObject([
			{
				custom_id: "a",
				result: { type: "errored", error: { error: { message: expect.stringContaining("max_tokens") } } },
			},
			{ custom_id: "b", result: { type: "succeeded" } },
		]);
	});

	it("answers each request, and tells the counts at its end", async () => {
		const { json, call, runAll } = started();
		const requests = [request("a"), request("b", { messages: "none" }), request("c")];
		const batch = await json("POST", PATH, { requests });
		expect(batch).toEqual({
			id: expect.stringMatching(/^msgbatch_[\da-f]{32}$/),
			type: "message_batch",
			processing_status: "in_progress",
			request_counts: { processing: 3, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
			created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
			expires_at: new Date(Date.parse(batch.created_at) + 86_400_000).toISOString(),
			ended_at: null,
			cancel_initiated_at: null,
			archived_at: null,
			results_url: null,
		});
		expect(await call("GET", `${PATH}/${batch.id}/results`)).toMatchObject({
			status: 400,
			text: expect.stringContaining("has not ended"),
		});
		expect((await call("DELETE", `${PATH}/${batch.id}`)).status).toBe(400);
		await runAll();
		const done = await json("GET", `${PATH}/${batch.id}`);
		expect(done).toMatchObject({
			processing_status: "ended",
			request_counts: { processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 0 },
			ended_at: expect.any(String),
			results_url: `http://localhost${PATH}/${batch.id}/results`,
		});
		const { text } = await call("GET", new URL(done.results_url).pathname);
		const results = text
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(results).toMatchObject([
			{
				custom_id: "a",
				result: {
					type: "succeeded",
					message: {
						type: "message",
						role: "assistant",
						content: [{ text: expect.stringContaining("Question a") }],
					},
				},
			},
			{
				custom_id: "b",
				result: {
					type: "errored",
					error: { type: "error", error: { type: "invalid_request_error", message: expect.any(String) } },
				},
			},
			{ custom_id: "c", result: { type: "succeeded" } },
		]);
		expect(await json("DELETE", `${PATH}/${batch.id}`)).toEqual({
			id: batch.id,
			type: "message_batch_deleted",
		});
		expect((await call("GET", `${PATH}/${batch.id}`)).status).toBe(404);
	});

	it("may have several models, and a request without one is its own error", async () => {
		const { json, call, runAll } = started();
		const { id } = await json("POST", PATH, {
			requests: [
				request("a"),
				request("b", { model: "@cf/baai/bge-m3" }),
				request("c", { model: undefined }),
			],
		});
		await runAll();
		const { text } = await call("GET", `${PATH}/${id}/results`);
		expect(
			text
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line).result)
				.map(({ type, error }) => error?.error.type ?? type),
		).toEqual(["succeeded", "not_found_error", "invalid_request_error"]);
	});

	it("that is cancelled has the requests that did not start as canceled", async () => {
		const { json, call, runAll } = started();
		const { id } = await json("POST", PATH, { requests: [request("a"), request("b")] });
		expect(await json("POST", `${PATH}/${id}/cancel`)).toMatchObject({
			processing_status: "canceling",
			cancel_initiated_at: expect.any(String),
			request_counts: { processing: 2 },
		});
		await runAll();
		expect(await json("GET", `${PATH}/${id}`)).toMatchObject({
			processing_status: "ended",
			request_counts: { processing: 0, succeeded: 0, errored: 0, canceled: 2, expired: 0 },
		});
		const { text } = await call("GET", `${PATH}/${id}/results`);
		expect(text).toBe(
			'{"custom_id":"a","result":{"type":"canceled"}}\n{"custom_id":"b","result":{"type":"canceled"}}\n',
		);
	});

	it("is listed in pages, in both directions", async () => {
		const { json, call } = started();
		const ids: string[] = [];
		for (let count = 0; count < 3; count++)
			ids.unshift((await json("POST", PATH, { requests: [request("a")] })).id);
		const first = await json("GET", `${PATH}?limit=2`);
		expect(first).toMatchObject({ has_more: true, first_id: ids[0], last_id: ids[1] });
		const next = await json("GET", `${PATH}?limit=2&after_id=${ids[1]}`);
		expect(next).toMatchObject({ has_more: false, data: [{ id: ids[2] }] });
		const before = await json("GET", `${PATH}?limit=1&before_id=${ids[2]}`);
		expect(before).toMatchObject({ has_more: true, data: [{ id: ids[1] }] });
		expect((await call("GET", `${PATH}?limit=0`)).status).toBe(400);
	});

	it("is not created from an invalid body", async () => {
		const { call } = started();
		for (const [requests, message] of [
			[[], "requests: "],
			[[request("a b")], "requests[0].custom_id: "],
			[[request("a"), request("a")], "requests[1].custom_id: another request has this id"],
			[[request("a", { stream: true })], "requests[0].params.stream: "],
			[[request("a", { max_tokens: 0 })], "requests[0].params.max_tokens: "],
			[[{ custom_id: "a" }], "requests[0].params: "],
		] as const) {
			const { status, text } = await call("POST", PATH, { requests });
			expect([status, text]).toEqual([400, expect.stringContaining(message)]);
			expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
		}
	});
});
