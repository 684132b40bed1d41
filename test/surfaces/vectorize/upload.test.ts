/** Uploads of vectors whose lines come in many pieces. */
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { testGateway } from "../../gateway.ts";

const INDEXES = "http://gateway/client/v4/accounts/local/vectorize/v2/indexes";
const LINES = Array.from({ length: 400 }, (_, i) =>
	JSON.stringify({ id: `v-${i}`, values: [i, 1], metadata: { text: `ä ${i} ${"x".repeat(100)}` } }),
).join("\n");
const { app } = testGateway({ vars: { DEFAULT_BACKEND: "simulator" } });

beforeAll(async () => {
	const init = { method: "POST", headers: { "content-type": "application/json" } };
	const config = { dimensions: 2, metric: "cosine" };
	await app.request(INDEXES, { ...init, body: JSON.stringify({ name: "upload-pieces", config }) });
});

/** A body that arrives in pieces of `size` bytes. */
function piecesOf(text: string, size: number): ReadableStream<Uint8Array> {
	const bytes = new TextEncoder().encode(text);
	let at = 0;
	return new ReadableStream({
		pull(controller) {
			controller.enqueue(bytes.slice(at, at + size));
			at += size;
			if (at >= bytes.length) controller.close();
		},
	});
}

const upsert = async (body: ReadableStream<Uint8Array>): Promise<Response> =>
	app.request(`${INDEXES}/upload-pieces/upsert`, {
		...{ method: "POST", headers: { "content-type": "application/x-ndjson" }, body },
	});

it.each([
	["pieces of 7 bytes", LINES, 7],
	["pieces of some lines, the last one ended", `${LINES}\n`, 997],
	["one piece", LINES, 1_000_000],
])("stores every line: %s", async (_, text, size) => {
	expect((await upsert(piecesOf(text, size))).status).toBe(200);
	const found = await app.request(`${INDEXES}/upload-pieces/get_by_ids`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ ids: ["v-0", "v-11", "v-399"] }),
	});
	const { result } = await found.json<{ result: { values: number[]; metadata: { text: string } }[] }>();
	expect(result.map(({ values, metadata }) => [...values, metadata.text.slice(0, 5).trim()])).toEqual([
		[0, 1, "ä 0 x"],
		[11, 1, "ä 11"],
		[399, 1, "ä 399"],
	]);
	const info = await app.request(`${INDEXES}/upload-pieces/info`);
	expect(await info.json()).toMatchObject({ result: { vectorCount: 400 } });
});

it("refuses a line that does not end, after one search of each piece", async () => {
	const split = vi.spyOn(String.prototype, "split");
	onTestFinished(() => split.mockRestore());
	const endless = `{"id":"a","values":[1,${"1,".repeat(600_000)}`;
	const refused = await upsert(piecesOf(endless, 4_096));
	const searched = split.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0);
	expect(refused.status).toBe(400);
	expect(await refused.json()).toMatchObject({ errors: [{ code: 40023 }] });
	expect(searched).toBeGreaterThan(1_000_000);
	expect(searched).toBeLessThan(1.1 * endless.length);
});

it.each([
	["one piece", 10_000_000],
	["pieces", 4_096],
])("accepts a line of 1,000,000 characters, and refuses one with one more: in %s", async (_, size) => {
	const line = (id: string, characters: number): string =>
		JSON.stringify({ id, values: [1, 1] }).padEnd(characters);
	const longest = `${line("first", 1_000_000)}\n${line("second", 1_000_000)}`;
	expect((await upsert(piecesOf(longest, size))).status).toBe(200);
	for (const body of [`${line("third", 1_000_001)}\n`, line("third", 1_000_001)]) {
		const refused = await upsert(piecesOf(body, size));
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ errors: [{ code: 40023 }] });
	}
});
