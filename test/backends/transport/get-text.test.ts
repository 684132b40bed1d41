import { describe, expect, it, onTestFinished, vi } from "vitest";
import { getText } from "../../../src/backends/transport/get-text.ts";
import { servicesOf, tap } from "../upstream.ts";

const MIB = 1_048_576;
const URL_OF_LOAD = "http://engine.test/load";

async function read(response: Response | (() => Response), key?: string) {
	const { services, requests } = servicesOf(() => (response instanceof Response ? response : response()));
	const text = await getText({ url: URL_OF_LOAD, headers: { "x-a": "1" }, key, fetch: services.fetch });
	return { text, requests };
}

describe("getText", () => {
	it.each([
		["sk-secret", "Bearer sk-secret"],
		[undefined, null],
	])("with the key %s sends the headers, and follows no redirect", async (key, authorization) => {
		const { text, requests } = await read(new Response("é"), key);
		expect(text).toBe("é");
		const [{ headers, init, url } = { headers: new Headers(), init: {}, url: "" }] = requests;
		expect([url, headers.get("x-a"), headers.get("authorization")]).toEqual([
			URL_OF_LOAD,
			"1",
			authorization,
		]);
		expect(init.redirect).toBe("manual");
	});

	it("ends after two seconds", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		onTestFinished(() => void vi.useRealTimers());
		let signal: AbortSignal | null | undefined;
		const fetch: typeof globalThis.fetch = (_, init) => {
			signal = init?.signal;
			return new Promise(() => {});
		};
		const failure = expect(getText({ url: URL_OF_LOAD, headers: {}, fetch })).rejects.toThrow("2000 ms");
		await vi.advanceTimersByTimeAsync(1_999);
		expect(signal?.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		await failure;
		expect(signal?.aborted).toBe(true);
	});

	it("joins characters that arrive in pieces", async () => {
		const { body, push, end } = tap();
		for (const byte of new TextEncoder().encode("aé")) push(new Uint8Array([byte]));
		push(new Uint8Array([0xc3]));
		end();
		expect((await read(new Response(body))).text).toBe("aé\ufffd");
	});

	it.each([
		[MIB, "a".repeat(MIB)],
		[MIB + 1, undefined],
	])("reads at most a mebibyte: %i bytes", async (length, expected) => {
		expect((await read(new Response("a".repeat(length)))).text).toBe(expected);
	});

	it("returns nothing for an error or without a body, and closes the connection", async () => {
		const upstream = tap();
		expect((await read(new Response(upstream.body, { status: 404 }))).text).toBeUndefined();
		expect(upstream.cancelled).toBe(true);
		expect((await read(new Response(null, { status: 204 }))).text).toBeUndefined();
	});
});
