import { describe, expect, it } from "vitest";
import { completeBodyOf, completeResponse } from "../../src/streams/complete-body.ts";

const bytesOf = (text: string) => new Uint8Array(new TextEncoder().encode(text));

describe("a response with a complete body", () => {
	it.each([
		["a text", "é 😀"],
		["bytes", bytesOf("é 😀")],
		["an empty text", ""],
	])("has it for its reader and its observers: %s", async (_, body) => {
		const headers = { "content-type": "text/plain", "x-a": "1" };
		const response = completeResponse(body, { status: 201, headers });
		const text = typeof body === "string" ? body : "é 😀";
		const complete = completeBodyOf(response);
		expect(complete?.text()).toBe(text);
		expect(complete?.bytes()).toEqual(bytesOf(text));
		expect(complete?.size()).toBe(bytesOf(text).length);
		expect([response.status, Object.fromEntries(response.headers)]).toEqual([201, headers]);
		// The observers do not read the response.
		expect(await response.text()).toBe(text);
		expect(complete?.text()).toBe(text);
	});

	it("decodes invalid bytes as a text with replacement characters, and keeps the bytes", () => {
		const complete = completeBodyOf(completeResponse(new Uint8Array([0x61, 0xff]), {}));
		expect([complete?.text(), complete?.bytes()]).toEqual(["a\ufffd", new Uint8Array([0x61, 0xff])]);
	});

	it("uses the text of its caller", () => {
		expect(completeBodyOf(completeResponse(bytesOf("a"), {}, () => "decoded before"))?.text()).toBe(
			"decoded before",
		);
	});

	it("is known only if it was made as one", () => {
		const response = completeResponse("a", {});
		expect(completeBodyOf(new Response("a"))).toBeUndefined();
		expect(completeBodyOf(new Response(response.body, response))).toBeUndefined();
	});
});
