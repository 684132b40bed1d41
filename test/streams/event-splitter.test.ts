import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EventFormat, EventSplitter } from "../../src/streams/event-splitter.ts";
import { pieces } from "./pieces.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** The events that the splitter returns for the pieces. */
function split(
	pieces: Uint8Array[],
	format: EventFormat = "sse",
	parted: "parted" | "blank lines" = "blank lines",
): { events: string[]; remainder: string } {
	const splitter = new EventSplitter(format, parted);
	const events: string[] = [];
	for (const piece of pieces) {
		const { bytes, ends } = splitter.push(piece);
		let start = 0;
		for (const end of ends) {
			events.push(decode(bytes.subarray(start, end)));
			start = end;
		}
		expect(start).toBe(bytes.length);
	}
	const { heldBytes } = splitter;
	const remainder = decode(splitter.takeRemainder());
	expect(heldBytes).toBe(encode(remainder).length);
	expect(splitter.heldBytes).toBe(0);
	expect(splitter.takeRemainder()).toHaveLength(0);
	return { events, remainder };
}

describe("EventSplitter", () => {
	it.each([
		["data: 1\n\ndata: 2\n\n", ["data: 1\n\n", "data: 2\n\n"], ""],
		["data: 1\r\n\r\ndata: 2\r\n\r\n", ["data: 1\r\n\r\n", "data: 2\r\n\r\n"], ""],
		["data: 1\ndata: 2\n\n", ["data: 1\ndata: 2\n\n"], ""],
		["data: 1\n\n\n", ["data: 1\n\n", "\n"], ""],
		[": ping\n\ndata: 1\n", [": ping\n\n"], "data: 1\n"],
		["data: 1", [], "data: 1"],
		["data: 1\n\r\r\n", [], "data: 1\n\r\r\n"],
		["\n\n", ["\n", "\n"], ""],
		["\r\n\n", ["\r\n", "\n"], ""],
		["", [], ""],
	])("splits %j", (text, events, remainder) => {
		expect(split([encode(text)])).toEqual({ events, remainder });
	});

	it.each([
		['data: {"a":1}\ndata: {"b":2}\n\n', ['data: {"a":1}\n', 'data: {"b":2}\n\n'], ""],
		['data: {"a":1}\ndata: {"b":2}\n', ['data: {"a":1}\n'], 'data: {"b":2}\n'],
		[
			'data: {"a":1}\r\ndata: {"b":2}\r\ndata: [DONE]\r\n',
			['data: {"a":1}\r\n', 'data: {"b":2}\r\n'],
			"data: [DONE]\r\n",
		],
		[
			'event: x\ndata: {"é":1}\nevent: y\nid: 2\ndata: {"b":2}\n\n',
			['event: x\ndata: {"é":1}\n', 'event: y\nid: 2\ndata: {"b":2}\n\n'],
			"",
		],
		// A document over several lines, and texts.
		['data: {\ndata: "a": 1}\n\n', ['data: {\ndata: "a": 1}\n\n'], ""],
		[
			"data: [\ndata: {}\ndata: ,\ndata: {}\ndata: ]\n\n",
			["data: [\ndata: {}\ndata: ,\ndata: {}\ndata: ]\n\n"],
			"",
		],
		['data: {"a":1}\ndata: more\n\n', ['data: {"a":1}\ndata: more\n\n'], ""],
		["data: 1\ndata: {}\n\n", ["data: 1\ndata: {}\n\n"], ""],
	])("splits events that are parted by one line break: %j", (text, events, remainder) => {
		const bytes = encode(text);
		const each = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
		expect(split([bytes], "sse", "parted")).toEqual({ events, remainder });
		expect(split(each, "sse", "parted")).toEqual({ events, remainder });
	});

	it("treats each line of NDJSON as an event", () => {
		const pieces = ["{}\n", '{"a":', '1}\n\n{"b"', ":2}"].map(encode);
		expect(split(pieces, "ndjson")).toEqual({ events: ["{}\n", '{"a":1}\n', "\n"], remainder: '{"b":2}' });
	});

	it.each([
		["sse", "blank lines"],
		["sse", "parted"],
		["ndjson", "blank lines"],
	] as const)("returns the same events of %s, %s, for all chunk boundaries", (format, parted) => {
		const line = fc.constantFrom("data: {}", "data: [", "event: x", "data: é€😀", ": x", "\r", "a\rb");
		const text = fc
			.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\n\n", "\r\n\r\n")))
			.map((lines) => lines.flat().join(""));
		fc.assert(
			fc.property(text, fc.array(fc.nat(300)), (text, places) => {
				expect(split(pieces(text, places), format, parted)).toEqual(split([encode(text)], format, parted));
			}),
			{ numRuns: 500 },
		);
	});
});
