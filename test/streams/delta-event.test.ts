import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventTemplate, Output, surroundingsBy } from "../../src/streams/delta-event.ts";
import { codePoint } from "../code-point.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const contentOf = (value: unknown): unknown => (value as { delta?: { content?: unknown } }).delta?.content;
const data = (content: string): string => `{"id":"é","delta":{"content":${JSON.stringify(content)}},"n":1}`;
const event = (json: string): Uint8Array => encoder.encode(`data: ${json}\n\n`);

function templateOf(json: string): EventTemplate {
	const template = EventTemplate.of(json, contentOf);
	if (!template) throw new Error("no template");
	return template;
}

describe("EventTemplate", () => {
	it("reads events that differ only in their content, as JSON.parse does", () => {
		const template = templateOf(data("first"));
		fc.assert(
			fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 20 }), (content) => {
				const read = template.read(event(data(content)));
				// Control characters have an escape with a code, and a replacement character may be a decoding error.
				const isCopied = !JSON.stringify(content).includes("\\u") && !content.includes("\ufffd");
				expect(read?.text).toBe(isCopied ? content : undefined);
				if (!read) return;
				expect(read.data).toBe(data(content));
				expect(read.value).toEqual(JSON.parse(data(content)));
			}),
		);
	});

	it.each(['"', "\\", "\b", "\f", "\n", "\r", "\t"])("reads the escape of %j", (content) => {
		expect(templateOf(data("first")).read(event(data(content)))?.text).toBe(content);
	});

	it.each([
		["another text before the content", '{"id":"e","delta":{"content":"a"},"n":1}'],
		["another text after it", '{"id":"é","delta":{"content":"a"},"n":2}'],
		["another field", '{"id":"é","delta":{"content":"a","role":"assistant"},"n":1}'],
		["no content", '{"id":"é","delta":{"content":""},"n":1}'],
		["an escape that JSON.stringify does not write", '{"id":"é","delta":{"content":"\\/"},"n":1}'],
		["an escape with a code", '{"id":"é","delta":{"content":"\\u00e9"},"n":1}'],
		["an invalid escape", '{"id":"é","delta":{"content":"\\x"},"n":1}'],
		["a content that ends in an escape", '{"id":"é","delta":{"content":"\\"},"n":1}'],
		["two contents", '{"id":"é","delta":{"content":"a","content":"b"},"n":1}'],
		["a control character", '{"id":"é","delta":{"content":"\t"},"n":1}'],
	])("does not read an event with %s", (_, json) => {
		expect(templateOf(data("first")).read(event(json))).toBeUndefined();
	});

	it("does not read an event with another first byte, or without the end of its content", () => {
		const template = templateOf(data("first"));
		for (const text of [
			`data: ${data("a")}`,
			`xata: ${data("a")}`,
			`data: ${data("a").replace('"a"', '"aa')}`,
		]) {
			const read = template.read(encoder.encode(`${text}\n\n`));
			expect(read?.text).toBe(text === `data: ${data("a")}` ? "a" : undefined);
		}
	});

	it("does not read bytes that are not UTF-8", () => {
		const bytes = event(data("?"));
		bytes[bytes.indexOf("?".charCodeAt(0))] = 0xff;
		expect(templateOf(data("first")).read(bytes)).toBeUndefined();
	});

	it.each([
		["has no content", '{"delta":{}}'],
		["has another content first", '{"other":{"content":"a"},"delta":{"content":"b"}}'],
		["has several lines", '{"delta":\n{"content":"b"}}'],
	])("is not made of an event that %s", (_, json) => {
		expect(EventTemplate.of(json, contentOf)).toBeUndefined();
	});
});

describe("Output", () => {
	it("joins text and contents in their order", () => {
		const template = templateOf(data("first"));
		const read = template.read(event(data('é "b"\n')));
		const surroundings = surroundingsBy((json) => `<${String(contentOf(JSON.parse(json)))}>`)(template);
		const output = new Output();
		expect(output.isEmpty).toBe(true);
		output.add("a ");
		if (read && surroundings) output.addDelta(read, surroundings);
		output.add(" c");
		expect(output.isEmpty).toBe(false);
		expect(decoder.decode(output.take())).toBe('a <é \\"b\\"\\n> c');
		expect(output.take()).toBeUndefined();
	});

	it("has no surroundings for a writer that omits or repeats the content", () => {
		const template = templateOf(data("first"));
		expect(surroundingsBy(() => "")(template)).toBeUndefined();
		expect(surroundingsBy((json) => json + json)(template)).toBeUndefined();
	});
});
