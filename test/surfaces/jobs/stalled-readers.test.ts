/** Readers of stored bytes who stall, read slowly, or leave: what all hold together is bounded, and its room comes back. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";
import { batches, MODEL } from "./batch-runs.ts";

/** Its own account: those of other tests in this isolate may hold bytes. */
const OWN_BASE = BASE.replace("/local/", "/stalled-readers/");
/** More than the runtime reads ahead for a caller. */
const FILE_BYTES = 3_000_000;
/** What the documentation names for a reader: docs/security.md. */
const READER_BYTES = 128 * 1024;

const { limit } = bufferedBytes.report();

afterEach(() => {
	vi.useRealTimers();
	bufferedBytes.limitTo(limit);
});

async function storedFile() {
	const gateway = testGateway();
	const bytes = new Uint8Array(FILE_BYTES).map((_, index) => index % 251);
	const form = new FormData();
	form.set("purpose", "user_data");
	form.set("file", new File([bytes], "large.bin"));
	const uploaded = await gateway.app.request(`${OWN_BASE}/v1/files`, { method: "POST", body: form });
	const { id } = await uploaded.json<{ id: string }>();
	const read = (signal?: AbortSignal) =>
		gateway.app.request(`${OWN_BASE}/v1/files/${id}/content`, { ...(signal && { signal }) });
	return { bytes, read };
}

async function begun(response: Response) {
	const reader = response.body?.getReader();
	const first = await reader?.read();
	return { reader, first: first?.value as Uint8Array };
}

const held = () => bufferedBytes.report().used;

describe("A reader of a stored file", () => {
	it("holds one piece of 64 KB and its copy until the end, however slowly it reads", async () => {
		const { bytes, read } = await storedFile();
		const before = held();
		const response = await read();
		const { reader, first } = await begun(response);
		expect(first.length).toBeLessThanOrEqual(64 * 1024);
		expect(held() - before).toBe(READER_BYTES);
		const pieces = [first];
		for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
			expect(piece.value.length).toBeLessThanOrEqual(64 * 1024);
			pieces.push(piece.value as Uint8Array);
			if (pieces.length % 16 === 0) await scheduler.wait(5);
		}
		expect(new Uint8Array(await new Blob(pieces).arrayBuffer())).toEqual(bytes);
		expect(held()).toBe(before);
	});

	it("gives its room back when it cancels, and when its request ends", async () => {
		const { read } = await storedFile();
		const before = held();
		const { reader } = await begun(await read());
		await reader?.cancel();
		expect(held()).toBe(before);
		const left = new AbortController();
		await begun(await read(left.signal));
		expect(held() - before).toBe(READER_BYTES);
		left.abort();
		expect(held()).toBe(before);
	});

	it("is refused with 3040 when others hold the room, with a half for one account", async () => {
		const { read } = await storedFile();
		bufferedBytes.limitTo(held() + 10 * READER_BYTES);
		const responses: Response[] = [];
		for (let readers = 0; readers < 7; readers++) responses.push(await read());
		expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
		expect(responses[5]?.headers.get("retry-after")).toBe("2");
		expect(await responses[5]?.json()).toMatchObject({
			error: { message: expect.stringContaining("bytes of buffered requests and answers") },
		});
		for (const { body } of responses.slice(0, 5)) await body?.cancel();
		const again = await read();
		expect(again.status).toBe(200);
		await again.body?.cancel();
	});

	it("that has read nothing for a minute makes room for another, and its answer breaks off", async () => {
		const { bytes, read } = await storedFile();
		const before = held();
		bufferedBytes.limitTo(before + 2 * READER_BYTES);
		const stalled = await begun(await read());
		expect((await read()).status).toBe(429);
		vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
		const next = await read();
		expect(next.status).toBe(200);
		await expect(stalled.reader?.read()).rejects.toThrow("was not read for a minute");
		expect(new Uint8Array(await next.arrayBuffer())).toEqual(bytes);
		expect(held()).toBe(before);
	});
});

/** Batches with results, by dialect. `copies`: how often the answer has the results. */
const RESULTS = [
	{
		dialect: "Anthropic",
		create: `${OWN_BASE}/v1/messages/batches`,
		body: {
			requests: [
				{
					custom_id: "a",
					params: { model: MODEL, max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
				},
			],
		},
		results: ({ id }: Record<string, string>) => `${OWN_BASE}/v1/messages/batches/${id}/results`,
		copies: 1,
	},
	{
		dialect: "Gemini",
		create: `${OWN_BASE}/v1beta/models/${MODEL}:batchGenerateContent`,
		body: {
			batch: {
				inputConfig: { requests: { requests: [{ request: { contents: [{ parts: [{ text: "Hi" }] }] } }] } },
			},
		},
		results: ({ name }: Record<string, string>) => `${OWN_BASE}/v1beta/${name}`,
		copies: 2,
	},
];

describe("A reader of the results of a batch", () => {
	it.each(RESULTS)(
		"of $dialect holds a piece of each file until the end, or until it leaves",
		async (face) => {
			const { create, body, results, copies } = face;
			const { fetch } = upstream(() => Response.json(completion("Hello")));
			const { app, runAll } = batches({ vars: ENGINE_VARS, fetch });
			const headers = { "anthropic-version": "2023-06-01", "content-type": "application/json" };
			const request = { method: "POST", headers, body: JSON.stringify(body) };
			const created = await (await app.request(create, request)).json();
			await runAll();
			const url = results(created as Record<string, string>);
			const before = held();
			const response = await app.request(url, { headers });
			expect(held() - before).toBe(copies * READER_BYTES);
			expect((await response.text()).match(/Hello/g)).toHaveLength(copies);
			expect(held()).toBe(before);
			const left = await app.request(url, { headers });
			await left.body?.cancel();
			expect(held()).toBe(before);
			bufferedBytes.limitTo(before + READER_BYTES);
			const refused = await app.request(url, { headers });
			expect(refused.status).toBe(copies > 1 ? 429 : 200);
			await refused.body?.cancel();
			expect(held()).toBe(before);
		},
	);
});
