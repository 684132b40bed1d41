import { describe, expect, it } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { recorded } from "../../../src/gateways/cache/recording.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => value && new TextDecoder().decode(value);

const REQUEST = { account: "acme", signal: new AbortController().signal };

function source() {
	let control!: ReadableStreamDefaultController<Uint8Array>;
	let reason: unknown;
	const stream = new ReadableStream<Uint8Array>({
		start: (controller) => {
			control = controller;
		},
		cancel: (cause) => {
			reason = cause;
		},
	});
	return { stream, control, cancelledWith: () => reason };
}

describe("recorded", () => {
	it("keeps the bytes of a body that is read to its end", async () => {
		const { stream, control } = source();
		const { body, complete } = recorded(stream, 10, REQUEST);
		control.enqueue(bytes("Hello"));
		control.enqueue(bytes("World"));
		control.close();
		expect(await new Response(body).text()).toBe("HelloWorld");
		expect(text(await complete)).toBe("HelloWorld");
	});

	it("passes a body above the limit on, and keeps nothing", async () => {
		const { stream, control } = source();
		const { body, complete } = recorded(stream, 9, REQUEST);
		control.enqueue(bytes("Hello"));
		control.enqueue(bytes("World"));
		control.close();
		expect(await new Response(body).text()).toBe("HelloWorld");
		expect(await complete).toBeUndefined();
	});

	it("keeps nothing of a body that fails, and passes the failure on", async () => {
		const { stream, control } = source();
		const { body, complete } = recorded(stream, 10, REQUEST);
		control.enqueue(bytes("Hello"));
		const reader = body.getReader();
		await reader.read();
		control.error(new Error("broken"));
		await expect(reader.read()).rejects.toThrow("broken");
		expect(await complete).toBeUndefined();
	});

	it("keeps nothing of a body that is cancelled, and cancels its source", async () => {
		const { stream, control, cancelledWith } = source();
		const { body, complete } = recorded(stream, 10, REQUEST);
		control.enqueue(bytes("Hello"));
		const reader = body.getReader();
		await reader.read();
		await reader.cancel("left");
		expect(cancelledWith()).toBe("left");
		expect(await complete).toBeUndefined();
	});

	it("keeps nothing when the caller leaves, although its reader neither reads on nor cancels", async () => {
		const { stream, control } = source();
		const caller = new AbortController();
		const before = bufferedBytes.report().used;
		const { body, complete } = recorded(stream, 10, { account: "acme", signal: caller.signal });
		control.enqueue(bytes("Hello"));
		await body.getReader().read();
		expect(bufferedBytes.report().used - before).toBe(5);
		caller.abort();
		expect(bufferedBytes.report().used - before).toBe(0);
		expect(await complete).toBeUndefined();
	});
});
