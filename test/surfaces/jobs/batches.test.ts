/** Batches of OpenAI's API, with its published client. The test runs the work of the queue itself. */
import { describe, expect, it } from "vitest";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, chat, jsonLines, MODEL } from "./batch-runs.ts";

const echo = () =>
	upstream(async (request) => {
		const { messages } = await request.json<{ messages: { content: string }[] }>();
		return Response.json(completion(`Answer to ${messages[0]?.content}`));
	});

const started = (reply = echo(), vars: object = {}) => ({
	...batches({ vars: { ...ENGINE_VARS, ...vars }, fetch: reply.fetch }),
	requests: reply.requests,
});

describe("a batch", () => {
	it("runs each line, and stores the answers as a file", async () => {
		const { create, openai, runAll, lines, requests, services } = started();
		const batch = await create(jsonLines([chat("a"), chat("b"), chat("c")]), {
			metadata: { run: "nightly" },
		});
		expect(batch).toMatchObject({
			id: expect.stringMatching(/^batch_[\da-f]{32}$/),
			object: "batch",
			status: "validating",
			endpoint: "/v1/chat/completions",
			completion_window: "24h",
			request_counts: { total: 0, completed: 0, failed: 0 },
			metadata: { run: "nightly" },
			output_file_id: null,
			error_file_id: null,
		});
		expect((batch.expires_at ?? 0) - batch.created_at).toBe(86_400);
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(done).toMatchObject({
			status: "completed",
			model: MODEL,
			request_counts: { total: 3, completed: 3, failed: 0 },
			error_file_id: null,
			errors: null,
		});
		const output = await lines(done.output_file_id);
		expect(output).toMatchObject(
			["a", "b", "c"].map((id) => ({
				id: expect.stringMatching(/^batch_req_[\da-f]{32}$/),
				custom_id: id,
				response: {
					status_code: 200,
					request_id: expect.stringMatching(/^[\da-f-]{36}$/),
					body: { choices: [{ message: { content: `Answer to Question ${id}` } }] },
				},
				error: null,
			})),
		);
		expect(requests).toHaveLength(3);
		const file = await openai.files.retrieve(done.output_file_id ?? "");
		expect(file).toMatchObject({ purpose: "batch_output", filename: `${batch.id}_output.jsonl` });
		expect((await services.ledgers.of("local").requests({})).requests).toHaveLength(3);
	});

	it("has a file of errors for lines that the model refuses, and no output if all fail", async () => {
		const { create, openai, runAll, lines } = started();
		const batch = await create(jsonLines([chat("a", { messages: "none" })]));
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(done).toMatchObject({
			status: "completed",
			output_file_id: null,
			request_counts: { total: 1, completed: 0, failed: 1 },
		});
		expect(await lines(done.error_file_id)).toMatchObject([
			{
				custom_id: "a",
				response: { status_code: 400, body: { error: { type: "invalid_request_error" } } },
				error: null,
			},
		]);
	});

	it("answers Responses, completions, embeddings, images and moderations", async () => {
		for (const [endpoint, body, found] of [
			["/v1/responses", { input: "Hi", store: false }, { object: "response", status: "completed" }],
			["/v1/completions", { prompt: "Once" }, { object: "text_completion" }],
		] as const) {
			const { create, openai, runAll, lines } = started(upstream(() => Response.json(completion("Hello"))));
			const line = { custom_id: "a", method: "POST", url: endpoint, body: { model: MODEL, ...body } };
			const batch = await create(jsonLines([line]), { endpoint });
			await runAll();
			const { error_file_id, output_file_id } = await openai.batches.retrieve(batch.id);
			expect([endpoint, await lines(error_file_id)]).toEqual([endpoint, []]);
			expect(await lines(output_file_id)).toMatchObject([{ response: { status_code: 200, body: found } }]);
		}
		const simulated = batches({});
		for (const [endpoint, body, found] of [
			["/v1/embeddings", { model: "@cf/baai/bge-m3", input: ["a"] }, { object: "list" }],
			[
				"/v1/images/generations",
				{ model: "@cf/black-forest-labs/flux-1-schnell", prompt: "A lighthouse", n: 2 },
				{ data: [{ b64_json: expect.any(String) }, { b64_json: expect.any(String) }] },
			],
			[
				"/v1/moderations",
				{ model: "@cf/meta/llama-guard-3-8b", input: ["Hello", "How to build a bomb"] },
				{ results: [{ flagged: false }, { flagged: true }] },
			],
		] as const) {
			const line = { custom_id: "a", method: "POST", url: endpoint, body };
			const batch = await simulated.create(jsonLines([line]), { endpoint });
			await simulated.runAll();
			const { output_file_id } = await simulated.openai.batches.retrieve(batch.id);
			expect(await simulated.lines(output_file_id)).toMatchObject([{ response: { body: found } }]);
		}
	});

	it("is listed in pages, the newest first", async () => {
		const { create, openai } = started();
		const ids: string[] = [];
		for (const id of ["1", "2", "3"]) ids.push((await create(jsonLines([chat(id)]))).id);
		const page = await openai.batches.list({ limit: 2 });
		expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[ids[2], ids[1]], true]);
		const all: string[] = [];
		for await (const { id } of openai.batches.list({ limit: 1 })) all.push(id);
		expect(all).toEqual([...ids].reverse());
	});

	it("is refused at once for another file, endpoint or window", async () => {
		const { create, openai, upload } = started();
		const input = jsonLines([chat("a")]);
		const data = await openai.files.create({ purpose: "user_data", file: new File(["x"], "a.txt") });
		const { id } = await upload(input);
		await openai.files.delete(id);
		for (const [fields, status, param, message] of [
			[
				{ input_file_id: data.id },
				400,
				"input_file_id",
				/input_file_id: expected a file of the purpose batch/,
			],
			[{ input_file_id: id }, 404, "input_file_id", /No such File object/],
			[{ endpoint: "/v1/videos" }, 400, "endpoint", /endpoint: expected/],
			[{ completion_window: "1h" }, 400, "completion_window", /completion_window/],
			[{ metadata: { a: "x".repeat(513) } }, 400, "metadata.a", /metadata\.a/],
		] as const)
			await expect(create(input, fields as never)).rejects.toMatchObject({
				status,
				param,
				message: expect.stringMatching(message),
			});
		await expect(openai.batches.list({ after: "batch_none" })).rejects.toMatchObject({ param: "after" });
		await expect(openai.batches.retrieve("batch_none")).rejects.toMatchObject({ param: "id" });
	});

	it("keeps its file, and not longer", async () => {
		const { create, openai, runAll } = started();
		const { id, input_file_id } = await create(jsonLines([chat("a")]));
		await expect(openai.files.delete(input_file_id)).rejects.toMatchObject({ status: 400 });
		await runAll();
		expect((await openai.batches.retrieve(id)).status).toBe("completed");
		await openai.files.delete(input_file_id);
	});
});

describe("the file of a batch", () => {
	const line = (id: string) => JSON.stringify(chat(id));
	const mistakes = async (content: string | Uint8Array, fields: object = {}, vars: object = {}) => {
		const { create, openai, runAll, requests } = started(echo(), vars);
		const batch = await create(content, fields as never);
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(requests).toHaveLength(0);
		expect(done).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
		return done.errors?.data?.map(({ code, line: number, param }) => [code, number, param]);
	};

	it.each<[string, string | Uint8Array, unknown[]]>([
		["no lines", "", [["empty_file", null, null]]],
		["only blank lines", "\n\r\n \n", [["empty_file", null, null]]],
		["no JSON", `${line("a")}\n{"custom_id"\n`, [["invalid_json_line", 2, null]]],
		["a list", "[]\n", [["invalid_json_line", 1, null]]],
		["a blank line", `${line("a")}\n\n${line("b")}\n`, [["invalid_json_line", 2, null]]],
		[
			"invalid UTF-8",
			Uint8Array.from([...Buffer.from(line("a")), 10, 0x22, 0xff, 0x22, 10]),
			[["invalid_json_line", 2, null]],
		],
		["an id twice", `${line("a")}\n${line("b")}\n${line("a")}\n`, [["duplicate_custom_id", 3, "custom_id"]]],
		["no id", jsonLines([chat("")]), [["missing_required_parameter", 1, "custom_id"]]],
		["another method", jsonLines([chat("a", {}, { method: "GET" })]), [["invalid_method", 1, "method"]]],
		[
			"another address",
			jsonLines([chat("a"), chat("b", {}, { url: "/v1/embeddings" })]),
			[["url_mismatch", 2, "url"]],
		],
		["no body", jsonLines([chat("a", {}, { body: null })]), [["missing_required_parameter", 1, "body"]]],
		["no model", jsonLines([chat("a", { model: "" })]), [["missing_required_parameter", 1, "body.model"]]],
		[
			"two models",
			jsonLines([chat("a"), chat("b", { model: "gpt-6-astra" })]),
			[["model_mismatch", 2, "body.model"]],
		],
		[
			"a model of another task",
			jsonLines([chat("a", { model: "@cf/baai/bge-m3" })]),
			[["model_not_found", 1, "body.model"]],
		],
		["a stream", jsonLines([chat("a", { stream: true })]), [["invalid_request", 1, "body.stream"]]],
	])("with %s fails", async (_, content, expected) => {
		expect(await mistakes(content)).toEqual(expected);
	});

	it("with a line that is too long fails", async () => {
		const long = jsonLines([chat("a", { user: "x".repeat(20_000) }), chat("b")]);
		expect(await mistakes(long, {}, { LIMITS: { json_bytes: 10_000 } })).toEqual([
			["line_too_long", 1, null],
		]);
	});

	it("with more than 50,000 lines fails", async () => {
		const lines = Array.from({ length: 50_001 }, (_, index) => line(String(index))).join("\n");
		expect(await mistakes(lines)).toEqual([["too_many_tasks", 50_001, null]]);
	});

	it("may have a byte order mark, CRLF and blank lines at its end", async () => {
		const { create, openai, runAll, lines } = started();
		const batch = await create(`\ufeff${line("ä")}\r\n${line("b")}\r\n\r\n\n`);
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(done.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
		expect(await lines(done.output_file_id)).toMatchObject([{ custom_id: "ä" }, { custom_id: "b" }]);
	});
});

describe("a cancelled batch", () => {
	it("needs no place: nine that wait while others use the whole pace end with one run each", async () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const gateway = batches({ vars: ENGINE_VARS, fetch });
		const { create, openai, queued, runOnce, services } = gateway;
		services.jobPace.free = () => 0;
		const created: string[] = [];
		for (let number = 0; number < 9; number++) {
			const { id } = await create(jsonLines([chat(`a-${number}`), chat(`b-${number}`)]));
			// It is valid, and waits for a place.
			expect(await runOnce()).toBeGreaterThan(0);
			created.push(id);
		}
		for (const id of created) {
			expect((await openai.batches.cancel(id)).status).toBe("cancelling");
			expect(queued.at(-1)?.key).toContain(id);
			expect(await runOnce()).toBeUndefined();
			const { request_counts, status } = await openai.batches.retrieve(id);
			expect({ status, request_counts }).toEqual({
				status: "cancelled",
				request_counts: { total: 2, completed: 0, failed: 0 },
			});
		}
		expect(requests).toEqual([]);
	});

	it("stores the results so far, and the lines that did not start", async () => {
		let cancel: (() => Promise<unknown>) | undefined;
		const engine = upstream(async () => {
			await cancel?.();
			return Response.json(completion("Hello"));
		});
		const { create, openai, runAll, lines } = started(engine, { JOBS: { concurrency: 2 } });
		const batch = await create(jsonLines(Array.from({ length: 90 }, (_, index) => chat(String(index)))));
		cancel = () => {
			cancel = undefined;
			return openai.batches.cancel(batch.id);
		};
		await runAll();
		const done = await openai.batches.retrieve(batch.id);
		expect(done).toMatchObject({ status: "cancelled", cancelling_at: expect.any(Number) });
		const answered = await lines(done.output_file_id);
		const others = await lines(done.error_file_id);
		expect(answered.length).toBeGreaterThan(0);
		expect(answered.length + others.length).toBe(90);
		expect(done.request_counts).toEqual({ total: 90, completed: answered.length, failed: 0 });
		expect(others[0]).toMatchObject({ response: null, error: { code: "batch_cancelled" } });
	});

	it("that has not started ends without results, and one that has ended stays as it is", async () => {
		const { create, openai, runAll, queued, requests } = started();
		const batch = await create(jsonLines([chat("a")]));
		expect(await openai.batches.cancel(batch.id)).toMatchObject({ status: "cancelling" });
		expect(queued).toHaveLength(2);
		await runAll();
		expect(await openai.batches.cancel(batch.id)).toMatchObject({ status: "cancelled" });
		expect(requests).toHaveLength(0);
	});
});
