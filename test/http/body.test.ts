import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LazyTimers, startNativeTimer } from "../../src/core/lazy-timer.ts";
import { parseJson, readInputs, SMALL_BODY_MS } from "../../src/http/body.ts";

const startTimer = startNativeTimer;
const limits = { jsonBytes: 100, uploadBytes: 200, jsonDepth: 4, bodyMs: 60_000 };
const post = (body: BodyInit | null, contentType?: string): Request => {
	const request = new Request("http://x/", { method: "POST", body });
	if (contentType === undefined) request.headers.delete("content-type");
	else request.headers.set("content-type", contentType);
	return request;
};
const read = (body: BodyInit | null, contentType?: string) =>
	readInputs(post(body, contentType), { limits, startTimer });

describe("readInputs", () => {
	it("reads JSON by its content type", async () => {
		expect(await read('{"a":1}', "application/json; charset=utf-8")).toEqual({ fields: { a: 1 } });
		expect(await read("[1]", "application/json")).toEqual({ fields: [1] });
	});

	it("limits the time of a small body without a native timer for each", async () => {
		const native = vi.spyOn(globalThis, "setTimeout");
		onTestFinished(() => native.mockRestore());
		const { start } = new LazyTimers({ keepAlive: () => {}, now: () => Date.now() });
		const request = () =>
			new Request("http://x/", {
				method: "POST",
				headers: { "content-type": "application/json", "content-length": "7" },
				body: '{"a":1}',
			});
		for (let i = 0; i < 3; i++)
			expect(await readInputs(request(), { limits, startTimer: start })).toEqual({ fields: { a: 1 } });
		// Others are those of the sweep, and of objects in the same isolate.
		expect(native.mock.calls.filter(([, milliseconds]) => milliseconds === SMALL_BODY_MS)).toEqual([]);
	});

	it("reads JSON with a default content type of clients", async () => {
		for (const type of [
			undefined,
			"application/x-www-form-urlencoded",
			"text/plain",
			"application/octet-stream",
		])
			expect(await read(' \n{"a":1}', type)).toEqual({ fields: { a: 1 } });
	});

	it("looks for JSON in the first 4,096 bytes of a body without its content type", async () => {
		const large = { ...limits, jsonBytes: 10_000, uploadBytes: 10_000 };
		const spaces = (count: number) => `${" ".repeat(count)}{"a":1}`;
		expect(await readInputs(post(spaces(4_095)), { limits: large, startTimer })).toEqual({
			fields: { a: 1 },
		});
		expect((await readInputs(post(spaces(4_096)), { limits: large, startTimer })).body?.bytes.length).toBe(
			4_103,
		);
		expect(await readInputs(post(spaces(4_096), "application/json"), { limits: large, startTimer })).toEqual({
			fields: { a: 1 },
		});
	});

	it("keeps other bodies as bytes", async () => {
		const bytes = new Uint8Array([0xff, 0xfb, 1]);
		expect(await read(bytes, "audio/mpeg")).toEqual({
			fields: {},
			body: { bytes, contentType: "audio/mpeg" },
		});
		expect(await read(bytes, "application/x-www-form-urlencoded")).toEqual({
			fields: {},
			body: { bytes, contentType: "application/x-www-form-urlencoded" },
		});
	});

	it.each([
		["no body", null, "application/json", "3003: Request is missing headers or body: body"],
		["an empty body", "", "application/json", "3003: Request is missing headers or body: body"],
		["half a document", '{"a":', "application/json", /^5006: Error: the request body is not valid JSON/],
		[
			"bad UTF-8",
			new Uint8Array([0x22, 0xc3, 0x28, 0x22]),
			"application/json",
			"5006: Error: the request body is not valid UTF-8",
		],
		["deep nesting", "[[[[[1]]]]]", "application/json", "5006: Error: nested deeper than 4 levels"],
		[
			"too much JSON",
			`"${"x".repeat(100)}"`,
			"application/json",
			"3006: Request is too large: more than 100 bytes",
		],
		[
			"too much JSON under another name",
			`{"a":"${"x".repeat(100)}"}`,
			"text/plain",
			"3006: Request is too large: more than 100 bytes",
		],
		[
			"too large an upload",
			new Uint8Array(201),
			"audio/wav",
			"3006: Request is too large: more than 200 bytes",
		],
	])("refuses %s", async (_, body, type, message) => {
		await expect(read(body, type)).rejects.toThrow(message);
	});

	it("drains a body over the limit, so that the client gets the response, up to a bound", async () => {
		const PIECE = 1024 * 1024;
		let sent = 0;
		let cancelled = false;
		const stream = new ReadableStream<Uint8Array>({
			pull(controller) {
				sent += PIECE;
				controller.enqueue(new Uint8Array(PIECE));
			},
			cancel() {
				cancelled = true;
			},
		});
		await expect(read(stream, "audio/wav")).rejects.toThrow("3006");
		expect(cancelled).toBe(true);
		expect(sent).toBeGreaterThan(30 * PIECE);
		expect(sent).toBeLessThan(36 * PIECE);
	});

	it("reads compressed bodies, and applies the limit to the decompressed bytes", async () => {
		const compressed = async (text: string, format: "gzip" | "deflate") => {
			const bytes = new Response(text).body?.pipeThrough(new CompressionStream(format));
			const request = post(await new Response(bytes).arrayBuffer(), "application/json");
			request.headers.set("content-encoding", format);
			return readInputs(request, { limits, startTimer });
		};
		expect(await compressed('{"a":1}', "gzip")).toEqual({ fields: { a: 1 } });
		expect(await compressed('{"a":1}', "deflate")).toEqual({ fields: { a: 1 } });
		await expect(compressed(`"${"x".repeat(10_000)}"`, "gzip")).rejects.toThrow("3006");
		const broken = post("not gzip", "application/json");
		broken.headers.set("content-encoding", "gzip");
		await expect(readInputs(broken, { limits, startTimer })).rejects.toThrow(
			"5006: Error: the request body cannot be decoded",
		);
		const other = post("x", "application/json");
		other.headers.set("content-encoding", "br");
		await expect(readInputs(other, { limits, startTimer })).rejects.toThrow(
			"the content encoding is not supported: use gzip or deflate",
		);
	});

	describe("a body with a content-length", () => {
		const sized = async (text: string, headers: Record<string, string>) => {
			const zipped = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
			const plain = new TextEncoder().encode(text);
			const body = headers["content-encoding"] ? await new Response(zipped).bytes() : plain;
			const request = post(body, "application/json");
			request.headers.set("content-length", String(body.length));
			for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
			return readInputs(request, { limits, startTimer });
		};

		it("is read, and decompressed if it is compressed", async () => {
			expect(await sized('{"a":1}', {})).toEqual({ fields: { a: 1 } });
			expect(await sized('{"a":1}', { "content-encoding": "gzip" })).toEqual({ fields: { a: 1 } });
			expect(await sized(`"${"x".repeat(98)}"`, {})).toEqual({ fields: "x".repeat(98) });
			expect(await sized(`"${"x".repeat(98)}"`, { "content-encoding": "gzip" })).toEqual({
				fields: "x".repeat(98),
			});
		});

		it.each([
			["an invalid byte", [0xff]],
			["half a character of two bytes", [0xc3]],
			["half a character of three bytes", [0xe2, 0x82]],
			["a surrogate", [0xed, 0xa0, 0x80]],
		])("is refused if it is not UTF-8: %s", async (_, invalid) => {
			const bytes = new Uint8Array([0x22, ...invalid, 0x22]);
			const request = post(bytes, "application/json");
			request.headers.set("content-length", String(bytes.length));
			await expect(readInputs(request, { limits, startTimer })).rejects.toThrow(
				"5006: Error: the request body is not valid UTF-8",
			);
		});

		it.each([
			["JSON", `"${"x".repeat(20_000)}"`],
			["not JSON", `"${"x".repeat(20_000)}`],
		])("is freed when it has been parsed, also if it is large and %s", async (_, text) => {
			const transfer = vi.spyOn(ArrayBuffer.prototype, "transfer");
			onTestFinished(() => transfer.mockRestore());
			const request = post(text, "application/json");
			request.headers.set("content-length", String(text.length));
			await readInputs(request, { limits: { ...limits, jsonBytes: 30_000 }, startTimer }).catch(() => {});
			expect(transfer.mock.calls).toEqual([[0]]);
			expect((transfer.mock.contexts[0] as ArrayBuffer).byteLength).toBe(0);
		});

		it("may contain any character, a byte order mark, and nothing", async () => {
			expect(await sized('"\ufffd \u{10ffff} é"', {})).toEqual({ fields: "\ufffd \u{10ffff} é" });
			expect(await sized('\ufeff{"a":1}', {})).toEqual({ fields: { a: 1 } });
			await expect(sized("", {})).rejects.toThrow("3003: Request is missing headers or body: body");
		});

		it("is refused if it is too large after decompression", async () => {
			const bomb = `"${"x".repeat(50_000)}"`;
			// 50 KB compress to fewer bytes than the limit.
			await expect(sized(bomb, { "content-encoding": "gzip" })).rejects.toThrow(
				"3006: Request is too large: more than 100 bytes",
			);
		});

		it("is refused if it is larger than its content-length and than the limit", async () => {
			await expect(sized(`"${"x".repeat(99)}"`, { "content-length": "10" })).rejects.toThrow(
				"3006: Request is too large: more than 100 bytes",
			);
		});
	});

	it("accepts a byte order mark", async () => {
		for (const type of ["application/json", undefined])
			expect(await read('\ufeff{"a":1}', type)).toEqual({ fields: { a: 1 } });
	});
});

describe("parseJson", () => {
	it("never quotes the body", () => {
		const secret = "my-very-secret-prompt";
		try {
			parseJson(new TextEncoder().encode(`{"prompt": ${secret}}`), limits);
			expect.unreachable();
		} catch (error) {
			expect(String(error)).not.toContain("secret");
			expect(String(error)).toContain("not valid JSON");
		}
	});
});

describe("a body that does not arrive", () => {
	const expected = {
		status: 408,
		code: 3007,
		description: "Request timeout: the request body did not arrive within 1 ms",
	};

	it.each([
		["application/json", {}],
		["audio/mpeg", {}],
		["audio/mpeg", { "content-length": "10" }],
		["application/json", { "content-encoding": "gzip" }],
	])("is 408 after the limit, and no read remains: %s %o", async (type, headers) => {
		const cancelled = Promise.withResolvers<unknown>();
		const body = new ReadableStream({
			type: "bytes",
			start: (sent) => sent.enqueue(new Uint8Array([0x1f])),
			cancel: cancelled.resolve,
		});
		const request = new Request("http://x/", {
			method: "POST",
			body,
			headers: { "content-type": type, ...headers },
		});
		await expect(readInputs(request, { limits: { ...limits, bodyMs: 1 }, startTimer })).rejects.toMatchObject(
			expected,
		);
		expect(await cancelled.promise).toMatchObject(expected);
	});

	it("is 408 after the limit, also if it is small JSON", async () => {
		const request = new Request("http://x/", {
			method: "POST",
			body: new ReadableStream({ type: "bytes", start: (sent) => sent.enqueue(new Uint8Array([0x7b])) }),
			headers: { "content-type": "application/json", "content-length": "10" },
		});
		await expect(readInputs(request, { limits: { ...limits, bodyMs: 1 }, startTimer })).rejects.toMatchObject(
			expected,
		);
	});

	it.each([
		["application/json", {}],
		["audio/mpeg", { "content-length": "10" }],
		["application/json", { "content-length": "10" }],
	])("is a request that its caller has left, and no failure of the gateway: %s %o", async (type, headers) => {
		const body = new ReadableStream({
			type: "bytes",
			pull: (sent) => sent.error(new Error("Network connection lost.")),
		});
		const request = new Request("http://x/", {
			method: "POST",
			body,
			headers: { "content-type": type, ...headers },
		});
		await expect(readInputs(request, { limits, startTimer })).rejects.toMatchObject({ key: "aborted" });
	});
});
