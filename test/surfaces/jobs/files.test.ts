/** Files, with the published clients of OpenAI and Anthropic. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { configure } from "../../../src/config/index.ts";
import { Jobs, jobCalls } from "../../../src/jobs/client/jobs.ts";
import type { JobStoreObject } from "../../../src/jobs/durable/job-store.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
import { servicesOf } from "../../../src/services.ts";
import { BASE, type TestGateway, testGateway } from "../../gateway.ts";
import { closedGateway } from "../../http/access.ts";

const DAY_SECONDS = 86_400;

function clients(gateway: TestGateway = testGateway()) {
	const fetch: typeof globalThis.fetch = async (url, init) =>
		gateway.app.request(url instanceof Request ? url : String(url), init);
	const common = { maxRetries: 0, dangerouslyAllowBrowser: true, fetch };
	return {
		...gateway,
		openai: new OpenAI({ ...common, apiKey: "none", baseURL: `${BASE}/v1` }),
		anthropic: new Anthropic({ ...common, apiKey: "none", baseURL: BASE }),
	};
}

const lines = (text = '{"custom_id":"1"}\n', name = "requests.jsonl") => toFile(Buffer.from(text), name);

function streamOf(pieces: readonly Uint8Array[], failure?: Error): ReadableStream<Uint8Array> {
	const left = [...pieces];
	return new ReadableStream({
		pull(controller) {
			const piece = left.shift();
			if (piece) controller.enqueue(piece);
			else if (failure) controller.error(failure);
			else controller.close();
		},
	});
}

/** A form whose file comes first, as a stream without a length. */
function streamed(gateway: TestGateway, pieces: readonly Uint8Array[], fields: Record<string, string>) {
	const encoder = new TextEncoder();
	const body = [
		encoder.encode('--b\r\nContent-Disposition: form-data; name="file"; filename="big.jsonl"\r\n\r\n'),
		...pieces,
		...Object.entries(fields).map(([name, value]) =>
			encoder.encode(`\r\n--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}`),
		),
		encoder.encode("\r\n--b--\r\n"),
	];
	return gateway.app.request(`${BASE}/v1/files`, {
		method: "POST",
		headers: { "content-type": "multipart/form-data; boundary=b" },
		body: streamOf(body),
		duplex: "half",
	} as RequestInit);
}

describe("OpenAI's client", () => {
	it("deletes each file while it lists them, over several pages", async () => {
		const { openai, app } = clients();
		const ids: string[] = [];
		for (let n = 0; n < 5; n++)
			ids.push((await openai.files.create({ purpose: "batch", file: await lines() })).id);
		const deleted: string[] = [];
		for await (const { id } of openai.files.list({ limit: 2 })) {
			await openai.files.delete(id);
			deleted.push(id);
		}
		expect(deleted).toEqual(ids.reverse());
		expect((await openai.files.list()).data).toEqual([]);
		const listedAfter = async (id: string) => {
			const answer = await app.request(`${BASE}/v1/files?after=${id}`);
			return [answer.status, await answer.text()];
		};
		expect(await listedAfter(ids[0] ?? "")).toEqual([200, expect.stringContaining('"data":[]')]);
		// An empty page would end the list without the other files.
		expect(await listedAfter("file-none")).toEqual([
			400,
			expect.stringContaining('has no file \\"file-none\\"'),
		]);
	});

	it("stores, shows, reads, lists and deletes files", async () => {
		const { openai } = clients();
		const file = await openai.files.create({ purpose: "batch", file: await lines() });
		expect(file).toMatchObject({
			id: expect.stringMatching(/^file-[\da-f]{32}$/),
			object: "file",
			bytes: 18,
			filename: "requests.jsonl",
			purpose: "batch",
			status: "processed",
			status_details: null,
		});
		expect((file.expires_at ?? 0) - file.created_at).toBe(30 * DAY_SECONDS);
		expect(await openai.files.retrieve(file.id)).toEqual(file);
		expect(await openai.files.waitForProcessing(file.id)).toEqual(file);
		expect(await (await openai.files.content(file.id)).text()).toBe('{"custom_id":"1"}\n');
		expect(await openai.files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
		await expect(openai.files.retrieve(file.id)).rejects.toMatchObject({
			status: 404,
			param: "id",
			type: "invalid_request_error",
			error: { message: `No such File object: ${file.id}` },
		});
		await expect(openai.files.content(file.id)).rejects.toMatchObject({ status: 404 });
		await expect(openai.files.delete(file.id)).rejects.toMatchObject({ status: 404 });
	});

	it("keeps a file as long as its upload says, and others without an end", async () => {
		const { openai } = clients();
		const short = await openai.files.create({
			purpose: "user_data",
			file: await lines(),
			expires_after: { anchor: "created_at", seconds: 3_600 },
		});
		expect((short.expires_at ?? 0) - short.created_at).toBe(3_600);
		const kept = await openai.files.create({ purpose: "vision", file: await lines("x", "a.png") });
		expect(kept.expires_at).toBeNull();
		for (const seconds of [3_599, 2_592_001])
			await expect(
				openai.files.create({
					purpose: "batch",
					file: await lines(),
					expires_after: { anchor: "created_at", seconds },
				}),
			).rejects.toMatchObject({ status: 400, message: expect.stringContaining("expires_after[seconds]") });
	});

	it("lists pages, the newest first, by purpose", async () => {
		const { openai } = clients();
		const ids: string[] = [];
		for (const purpose of ["batch", "batch", "user_data", "batch"] as const)
			ids.push((await openai.files.create({ purpose, file: await lines() })).id);
		const all: string[] = [];
		for await (const { id } of openai.files.list({ limit: 2 })) all.push(id);
		expect(all).toEqual([...ids].reverse());
		const page = await openai.files.list({ limit: 2, order: "asc", purpose: "batch" });
		expect(page.data.map(({ id }) => id)).toEqual([ids[0], ids[1]]);
		expect(page.has_more).toBe(true);
		const last = await page.getNextPage();
		expect(last.data.map(({ id }) => id)).toEqual([ids[3]]);
		expect(last.has_more).toBe(false);
		await expect(openai.files.list({ limit: 10_001 })).rejects.toMatchObject({ status: 400 });
	});

	it.each([
		["no purpose", {}, "requests.jsonl", /purpose/],
		[
			"a misspelled purpose",
			{ porpose: "batch" },
			"requests.jsonl",
			/purpose: expected .*; porpose: unknown; did you mean "purpose"\?/,
		],
		["an unknown purpose", { purpose: "batch_output" }, "requests.jsonl", /purpose/],
		["another ending", { purpose: "batch" }, "requests.csv", /^400 Invalid file format for Batch API/],
	])("is refused a file with %s, and nothing is stored", async (_, fields, name, message) => {
		const { openai, services } = clients();
		const upload = openai.files.create({ ...fields, file: await lines("x", name) } as never);
		await expect(upload).rejects.toMatchObject({ status: 400, message: expect.stringMatching(message) });
		expect(await services.jobs.usage("local")).toMatchObject({ files: 0 });
		expect(await services.storage.blobs("local").list()).toEqual({ blobs: [] });
	});
});

describe("an upload", () => {
	it("is stored while it arrives, before its purpose is known", async () => {
		const gateway = testGateway();
		const pieces = Array.from({ length: 40 }, (_, index) => new Uint8Array(100_000).fill(65 + index));
		const response = await streamed(gateway, pieces, { purpose: "batch" });
		const file = await response.json<{ id: string; bytes: number }>();
		expect([response.status, file.bytes]).toEqual([200, 4_000_000]);
		const content = await gateway.get(`/v1/files/${file.id}/content`);
		expect(content.headers.get("content-length")).toBe("4000000");
		const bytes = new Uint8Array(await content.arrayBuffer());
		expect([bytes[0], bytes[3_999_999]]).toEqual([65, 104]);
	});

	it("that is larger than the bound is refused, and leaves nothing", async () => {
		const gateway = testGateway({ vars: { JOBS: { file_bytes: 1_000 } } });
		const response = await streamed(gateway, [new Uint8Array(1_001)], { purpose: "batch" });
		expect(response.status).toBe(413);
		expect(await gateway.services.jobs.usage("local")).toMatchObject({ files: 0, fileBytes: 0 });
	});

	it("that breaks off leaves nothing", async () => {
		const gateway = testGateway();
		const begun = new TextEncoder().encode('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nhello');
		const broken = streamOf([begun], new Error("The client has left"));
		const response = await gateway.app.request(`${BASE}/v1/files`, {
			method: "POST",
			headers: { "content-type": "multipart/form-data; boundary=b" },
			body: broken,
			duplex: "half",
		} as RequestInit);
		expect(response.status).toBe(408);
		expect(await gateway.services.jobs.usage("local")).toMatchObject({ files: 0 });
		expect(await gateway.services.storage.blobs("local").list()).toEqual({ blobs: [] });
	});

	it("of one file too many is refused", async () => {
		const { openai } = clients(testGateway({ vars: { JOBS: { max_files: 1 } } }));
		const { id } = await openai.files.create({ purpose: "batch", file: await lines() });
		await expect(openai.files.create({ purpose: "batch", file: await lines() })).rejects.toMatchObject({
			status: 413,
			message: expect.stringContaining("at most 1 files"),
		});
		await openai.files.delete(id);
		await openai.files.create({ purpose: "batch", file: await lines() });
	});

	it.each([
		["JSON", "application/json", "{}"],
		[
			"no file",
			"multipart/form-data; boundary=b",
			'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--',
		],
		["a form without an end", "multipart/form-data; boundary=b", "--b\r\n"],
	])("with %s is refused in OpenAI's and Anthropic's format", async (_, type, body) => {
		const gateway = testGateway();
		const send = (headers: Record<string, string>) =>
			gateway.app.request(`${BASE}/v1/files`, {
				method: "POST",
				headers: { "content-type": type, ...headers },
				body,
			});
		const openai = await send({});
		expect(openai.status).toBe(400);
		expect(await openai.json()).toMatchObject({ error: { type: "invalid_request_error" } });
		const anthropic = await send({ "anthropic-version": "2023-06-01" });
		expect(anthropic.status).toBe(400);
		expect(await anthropic.json()).toMatchObject({
			type: "error",
			error: { type: "invalid_request_error" },
		});
	});
});

describe("Anthropic's client", () => {
	it("stores, shows, reads, lists and deletes files", async () => {
		const { anthropic, openai } = clients();
		const file = await anthropic.beta.files.upload({
			file: await toFile(Buffer.from("hello"), "note.txt", { type: "text/plain" }),
		});
		expect(file).toMatchObject({
			id: expect.stringMatching(/^file_[\da-f]{32}$/),
			type: "file",
			filename: "note.txt",
			mime_type: "text/plain",
			size_bytes: 5,
			created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
		});
		expect(await anthropic.beta.files.retrieveMetadata(file.id)).toEqual(file);
		expect(await (await anthropic.beta.files.download(file.id)).text()).toBe("hello");
		expect(await openai.files.retrieve(file.id)).toMatchObject({ purpose: "user_data", bytes: 5 });
		expect(await anthropic.beta.files.delete(file.id)).toEqual({ id: file.id, type: "file_deleted" });
		await expect(anthropic.beta.files.retrieveMetadata(file.id)).rejects.toMatchObject({
			status: 404,
			error: { type: "error", error: { type: "not_found_error" } },
		});
	});

	it("lists pages in both directions, and chosen ids", async () => {
		const { anthropic, app } = clients();
		const ids: string[] = [];
		for (let index = 0; index < 5; index++)
			ids.push((await anthropic.beta.files.upload({ file: await lines() })).id);
		const newest = [...ids].reverse();
		const all: string[] = [];
		for await (const { id } of anthropic.beta.files.list({ limit: 2 })) all.push(id);
		expect(all).toEqual(newest);
		// Earlier versions of the client send these.
		const page = (query: string) =>
			app.request(`${BASE}/v1/files?${query}`, { headers: { "anthropic-version": "2023-06-01" } });
		const before = await page(`limit=2&before_id=${newest[3]}`);
		expect(await before.json()).toMatchObject({
			data: [{ id: newest[1] }, { id: newest[2] }],
			has_more: true,
			first_id: newest[1],
			last_id: newest[2],
		});
		const both = await page(`before_id=${newest[3]}&after_id=${newest[0]}`);
		expect(both.status).toBe(400);
		const chosen = await anthropic.beta.files.list({ ids: [ids[1] as string, "file_none"] });
		expect(chosen.data.map(({ id }) => id)).toEqual([ids[1]]);
	});

	it("sets an expiry", async () => {
		const { anthropic } = clients();
		const file = await anthropic.beta.files.upload({ file: await lines(), expires_in_seconds: 7_200 });
		expect(Date.parse(file.expires_at ?? "") - Date.parse(file.created_at)).toBe(7_200_000);
	});
});

describe("an expired file", () => {
	it("is not found, and its bytes are deleted, also those of an upload that did not end", async () => {
		const config = configure({});
		const { storage } = servicesOf(config, createPersistent(env, config));
		const account = crypto.randomUUID();
		const namespace = env.JOB_STORE as DurableObjectNamespace<JobStoreObject>;
		const jobs = new Jobs({ object: () => jobCalls(namespace, account), bounds: config.jobs.bounds });
		const blobs = storage.blobs(account);
		const now = Date.now();
		const hours = (count: number): number => count * 3_600_000;
		const scope = { owner: "operator", all: true };
		const begin = (id: string, createdAt: number) =>
			jobs.files(account, (files) =>
				files.begin(account, { id, owner: "operator", createdAt }, config.jobs.bounds),
			);
		for (const id of ["expired", "kept", "unfinished"]) await blobs.put(`files/${id}`, new Uint8Array(3));
		await begin("unfinished", now - hours(3));
		for (const [id, expiresAt] of [
			["expired", now - 1],
			["kept", now + hours(1)],
		] as const) {
			await begin(id, now - hours(1));
			const record = { purpose: "batch", filename: "a.jsonl", contentType: "text/plain", bytes: 3 };
			await jobs.files(account, (files) =>
				files.complete({ id, owner: "operator", createdAt: now - hours(1), expiresAt, ...record }),
			);
		}
		expect((await jobs.files(account, (files) => files.get("expired", scope))).ok).toBe(false);
		await runDurableObjectAlarm(namespace.getByName(account));
		await expect.poll(async () => (await blobs.list()).blobs.map(({ key }) => key)).toEqual(["files/kept"]);
		await expect.poll(() => jobs.usage(account)).toMatchObject({ files: 1, fileBytes: 3 });
	});
});

describe("a file of another token", () => {
	const FORM = {
		method: "POST",
		headers: { "content-type": "multipart/form-data; boundary=b" },
		body: '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nMy secret\r\n--b--',
	};

	it("does not exist for a token that may only run, and for other accounts", async () => {
		const { createToken, send } = closedGateway();
		const stranger = closedGateway();
		const owner = await createToken(["Workers AI Run"]);
		const { id } = await (await send("/ai/v1/files", owner, FORM)).json<{ id: string }>();
		const writer = await createToken(["Workers AI Write"]);
		const foreign = await stranger.createToken(["Workers AI Write"]);
		const callers = [
			[await createToken(["Workers AI Run"]), send, 404],
			[await createToken(["Workers AI Read"]), send, 404],
			[foreign, send, 403],
			[foreign, stranger.send, 404],
			["", send, 401],
		] as const;
		for (const [token, sendAs, status] of callers)
			for (const [method, path] of [
				["GET", ""],
				["GET", "/content"],
				["DELETE", ""],
			]) {
				const response = await sendAs(`/ai/v1/files/${id}${path}`, token, { method });
				expect([method, path, response.status]).toEqual([method, path, status]);
				expect(await response.text()).not.toContain("secret");
			}
		const listed = async (token: string): Promise<string[]> => {
			const { data } = await (await send("/ai/v1/files", token)).json<{ data: { id: string }[] }>();
			return data.map((file) => file.id);
		};
		expect([await listed(owner), await listed(writer)]).toEqual([[id], [id]]);
		expect(await listed(await createToken(["Workers AI Run"]))).toEqual([]);
		expect(await (await send(`/ai/v1/files/${id}/content`, writer)).text()).toBe("My secret");
		expect((await send(`/ai/v1/files/${id}`, writer, { method: "DELETE" })).status).toBe(200);
	});

	it("is not read before the token is verified", async () => {
		const { send } = closedGateway();
		const body = new ReadableStream({ pull: () => new Promise<void>(() => {}) });
		const response = await send("/ai/v1/files", "none", { ...FORM, body, duplex: "half" } as RequestInit);
		expect(response.status).toBe(401);
	});
});
