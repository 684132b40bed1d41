import { describe, expect, it } from "vitest";
import { recorded } from "../../../src/gateways/cache/recording.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => value && new TextDecoder().decode(value);

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
		const { body, complete } = recorded(stream, 10, "acme");
		control.enqueue(bytes("Hello"));
		control.enqueue(bytes("World"));
		control.close();
		expect(await new Response(body).text()).toBe("HelloWorld");
		expect(text(await complete)).toBe("HelloWorld");
	});

	it("passes a body above the limit on, and keeps nothing", async () => {
		const { stream, control } = source();
		const { body, complete } = recorded(stream, 9, "acme");
		control.enqueue(bytes("Hello"));
		control.enqueue(bytes("World"));
		control.close();
		expect(await new Response(body).text()).toBe("HelloWorld");
		expect(await complete).toBeUndefined();
	});

	it("keeps nothing of a body that fails, and passes the failure on", async () => {
		const { stream, control } = source();
		const { body, complete } = recorded(stream, 10, "acme");
		control.enqueue(bytes("Hello"));
		const reader = body.getReader();
		await reader.read();
		control.error(new Error("broken"));
		await expect(reader.read()).rejects.toThrow("broken");
		expect(await complete).toBeUndefined();
	});

	it("keeps nothing of a body that is cancelled, and cancels its source", async () => {
		const { stream, control, cancelledWith } = source();
		const { body, complete } = recorded(stream, 10, "acme");
		control.enqueue(bytes("Hello"));
		const reader = body.getReader();
		await reader.read();
		await reader.cancel("left");
		expect(cancelledWith()).toBe("left");
		expect(await complete).toBeUndefined();
	});
});
