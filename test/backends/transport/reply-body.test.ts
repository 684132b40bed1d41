import { describe, expect, it } from "vitest";
import { isShort, readShort, readUpTo } from "../../../src/backends/transport/reply-body.ts";
import { AiError } from "../../../src/core/errors.ts";
import type { Deadline } from "../../../src/outbound/deadline.ts";
import { callOf, failureOf, json } from "../upstream.ts";

const call = callOf(() => json({}));

/** A deadline that records its calls. */
function deadlineOf(reason?: AiError) {
	const calls: string[] = [];
	const control = new AbortController();
	if (reason) control.abort(reason);
	const deadline: Pick<Deadline, "close" | "expect" | "race" | "signal"> = {
		signal: control.signal,
		expect: (limitMs) => void calls.push(`expect ${limitMs}`),
		race: (work) => work,
		close: () => void calls.push("close"),
	};
	return { deadline, calls };
}

describe("isShort", () => {
	it.each<[Record<string, string>, number, boolean]>([
		[{}, 10, false],
		[{ "content-length": "10" }, 10, true],
		[{ "content-length": "11" }, 10, false],
		[{ "content-length": "1048576" }, 2_000_000, true],
		[{ "content-length": "1048577" }, 2_000_000, false],
		[{ "content-length": "10", "content-encoding": "gzip" }, 10, false],
	])("of %j with at most %i bytes is %s", (headers, maxBytes, expected) => {
		expect(isShort(new Response(null, { headers }), maxBytes)).toBe(expected);
	});
});

describe("readShort", () => {
	it("returns the body, with the limit of silence, and closes the deadline", async () => {
		const { deadline, calls } = deadlineOf();
		expect(await readShort({ call, response: new Response(), deadline }, async () => "body")).toBe("body");
		expect(calls).toEqual(["expect 2000", "close"]);
	});

	it("fails as interrupted, or with the reason of the deadline", async () => {
		const broken = async () => {
			throw new Error("connection reset");
		};
		const open = deadlineOf();
		const response = new Response();
		const reading = readShort({ call, response, deadline: open.deadline }, broken);
		expect(await failureOf(reading)).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' was cut off mid-answer",
		});
		expect(open.calls).toEqual(["expect 2000", "close"]);
		const aborted = deadlineOf(new AiError("timeout"));
		const late = readShort({ call, response, deadline: aborted.deadline }, broken);
		expect(await failureOf(late)).toMatchObject({ key: "timeout" });
	});
});

describe("readUpTo", () => {
	const read = async (body: BodyInit | null, maxBytes: number, headers: Record<string, string> = {}) => {
		const { deadline, calls } = deadlineOf();
		const response = new Response(body, { headers });
		const { bytes, truncated } = await readUpTo(maxBytes, { call, response, deadline });
		expect(calls.at(-1)).toBe("close");
		return { text: new TextDecoder().decode(bytes), truncated };
	};
	const stream = () => new Blob(["abcd"]).stream();

	it.each([
		["of a known length", "abcd", 4, { "content-length": "4" }, { text: "abcd", truncated: false }],
		["of an unknown length", stream(), 4, {}, { text: "abcd", truncated: false }],
		["beyond the limit", stream(), 3, {}, { text: "abc", truncated: true }],
		[
			"beyond the limit, of a known length",
			"abcd",
			3,
			{ "content-length": "4" },
			{ text: "abc", truncated: true },
		],
		["that is absent", null, 4, {}, { text: "", truncated: false }],
	])("reads a body %s", async (_, body, maxBytes, headers, expected) => {
		expect(await read(body, maxBytes, headers as Record<string, string>)).toEqual(expected);
	});
});

describe("the bytes of a reply", () => {
	const MAX_BYTES = 2_000_000;
	const held = (response: Response, holdReply: (bytes: number) => void) => {
		const { deadline } = deadlineOf();
		return readUpTo(MAX_BYTES, { call: { ...call, holdReply }, response, deadline });
	};
	const large = "x".repeat(20_000);
	const stream = (): ReadableStream => new Blob([large]).stream();
	it.each<[string, BodyInit, Record<string, string>, number]>([
		["of a known length", large, { "content-length": "20000" }, 20_000],
		["of an unknown length", stream(), {}, 20_000],
		["of a length that is announced wrongly", stream(), { "content-length": "1900000" }, 1_900_000],
		["of a length beyond the limit", stream(), { "content-length": "2000001" }, 20_000],
		["that is small", "abcd", { "content-length": "4" }, 0],
	])("%s are counted before they are read", async (_, body, headers, expected) => {
		let bytes = 0;
		await held(new Response(body, { headers }), (more) => {
			bytes += more;
		});
		expect(bytes).toBe(expected);
	});

	it.each<[string, Record<string, string>]>([
		["known", { "content-length": "20000" }],
		["unknown", {}],
	])("of %s length end the call if they may not be held", async (_, headers) => {
		const refusal = new AiError("outOfCapacity");
		let isCancelled = false;
		const body = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.enqueue(new TextEncoder().encode(large)),
			cancel: () => {
				isCancelled = true;
			},
		});
		const read = held(new Response(body, { headers }), () => {
			throw refusal;
		});
		expect(await failureOf(read)).toBe(refusal);
		expect(isCancelled).toBe(true);
	});
});
