import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { getBytes, getJson, postBytes, postJson, postStream } from "../../../src/backends/transport/http.ts";
import { AiError } from "../../../src/core/errors.ts";
import { traceOf, withTrace } from "../../../src/outbound/passed-headers.ts";
import {
	callOf,
	eventStream,
	failureOf,
	json,
	KEY,
	neverAnswers,
	TARGET,
	type TestCall,
	tap,
	withFakeTimers,
} from "../upstream.ts";

const Reply = z.looseObject({ answer: z.number() });
const MiB = 1024 * 1024;

withFakeTimers();

describe("the request", () => {
	it("is a POST of JSON with the target's headers and key", async () => {
		const call = callOf(() => json({ answer: 1, more: "kept" }));
		expect(await postJson(call, "/route", { a: 1, absent: undefined }, Reply)).toEqual({
			answer: 1,
			more: "kept",
		});
		const [request] = call.requests;
		expect(request?.url).toBe("http://engine.test/v1/route");
		expect(request?.init.method).toBe("POST");
		expect(request?.init.redirect).toBe("manual");
		expect(request?.init.body).toBe('{"a":1}');
		expect(Object.fromEntries(request?.headers ?? [])).toEqual({
			accept: "application/json",
			authorization: `Bearer ${KEY}`,
			"content-type": "application/json",
			"x-ganglion-hop": "1",
			"x-tenant": "tenant-secret-value",
		});
	});

	describe("of a caller with a trace", () => {
		const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
		const sent = async (traceparent: string, target: object = {}) => {
			const call = callOf(() => json({ answer: 1 }), { target });
			await withTrace(traceOf(new Headers({ traceparent })), () => postJson(call, "/route", {}, Reply));
			// A later one of the same target, without a trace.
			await postJson(call, "/route", {}, Reply);
			return call.requests.map(({ headers }) => headers.get("traceparent"));
		};

		it("has its trace, and no later one has it", async () => {
			expect(await sent(TRACE)).toEqual([TRACE, null]);
		});

		it("has the fields of version 00 of a later version, without the text after them", async () => {
			expect(await sent(`01${TRACE.slice(2)}`)).toEqual([TRACE, null]);
			expect(await sent(`fe${TRACE.slice(2)}-any "text"${"x".repeat(500)}`)).toEqual([TRACE, null]);
		});

		it("has the header of the operator instead", async () => {
			expect(await sent(TRACE, { headers: { traceparent: "own" } })).toEqual(["own", "own"]);
		});

		it.each([
			"",
			"x",
			TRACE.slice(1),
			TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32)),
			`${TRACE}-more`,
			`ff${TRACE.slice(2)}`,
		])("does not have what is no trace: %j", async (traceparent) => {
			expect(await sent(traceparent)).toEqual([null, null]);
		});
	});

	it("has no credentials if the target has none", async () => {
		const call = callOf(() => json({ answer: 1 }), { target: { key: undefined, headers: {} } });
		await postJson(call, "/route", {}, Reply);
		expect(call.requests[0]?.headers.has("authorization")).toBe(false);
	});

	it("leaves the content type of a form to the runtime, which chooses its boundary", async () => {
		const call = callOf(() => json({ answer: 1 }));
		const form = new FormData();
		form.append("model", "m");
		await postJson(call, "/route", form, Reply);
		expect(call.requests[0]?.headers.has("content-type")).toBe(false);
		expect(call.requests[0]?.form.get("model")).toBe("m");
	});

	it("has the media type of a file", async () => {
		const call = callOf(() => json({ answer: 1 }));
		await postJson(call, "/route", new Blob(["ID3"], { type: "audio/mpeg" }), Reply);
		const { url = "", init } = call.requests[0] ?? {};
		const sent = new Request(url, init);
		expect(sent.headers.get("content-type")).toBe("audio/mpeg");
		expect(await sent.bytes()).toEqual(new TextEncoder().encode("ID3"));
	});

	it("may be a GET", async () => {
		const call = callOf(() => json({ answer: 1 }));
		expect(await getJson(call, "/route", Reply)).toEqual({ answer: 1 });
		const [request] = call.requests;
		expect(request?.init.method).toBe("GET");
		expect(request?.init.body).toBeUndefined();
		expect(Object.fromEntries(request?.headers ?? [])).toEqual({
			accept: "application/json",
			authorization: `Bearer ${KEY}`,
			"x-tenant": "tenant-secret-value",
			"x-ganglion-hop": "1",
		});
	});

	it("has its own headers in addition to the target's", async () => {
		const headers = { "x-version": "2" };
		const asks = [
			async (call: TestCall) => void (await postJson(call, "/route", {}, Reply, { headers })),
			async (call: TestCall) => void (await postBytes(call, "/route", {}, { headers }).catch(() => {})),
			async (call: TestCall) =>
				void (await postStream(call, "/route", {}, { schema: Reply, choices: 1, headers })),
		];
		for (const ask of asks) {
			const call = callOf(() => json({ answer: 1 }));
			await ask(call);
			expect(call.requests[0]?.headers.get("x-version")).toBe("2");
			expect(call.requests[0]?.headers.get("x-tenant")).toBe("tenant-secret-value");
		}
	});

	it("calls fetch without `this`, as the runtime requires", async () => {
		const call = callOf(() => json({ answer: 1 }));
		const { fetch } = call.services;
		let receiver: unknown = "not called";
		call.services.fetch = function (this: unknown, ...args: Parameters<typeof fetch>) {
			receiver = this;
			return fetch(...args);
		};
		await postJson(call, "/route", {}, Reply);
		expect(receiver).toBeUndefined();
	});
});

describe("a value", () => {
	const fails = async (response: Response, key: string, description: string) => {
		const error = await failureOf(
			postJson(
				callOf(() => response),
				"/route",
				{},
				Reply,
			),
		);
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject({ key, description });
	};
	const misfit = "The backend 'lab' answered with something that is not a reply of /route";

	it("that is not JSON is refused", () =>
		fails(new Response("<html>It works!</html>"), "executionFailed", misfit));
	it("that is cut off inside its JSON is refused", () =>
		fails(json('{"answer":'), "executionFailed", misfit));
	it("of another shape is refused", () => fails(json({ answer: "one" }), "executionFailed", misfit));
	it("whose length cannot be compared is refused", async () => {
		const call = callOf(() => json({ answers: { length: { valueOf: 1, toString: 1 } } }));
		const failure = await failureOf(postJson(call, "/route", {}, z.object({ answers: z.string().min(1) })));
		expect(failure).toMatchObject({ key: "executionFailed", description: misfit });
	});
	it("that is empty is refused", () => fails(new Response(null, { status: 204 }), "executionFailed", misfit));
	it("that is an error with status 200 is that error", () =>
		fails(
			json({ error: "Unexpected endpoint or method. (POST /v1/route)" }),
			"executionFailed",
			"The backend 'lab' failed with HTTP 500",
		));
	it("that is an error with a code has the status of that code", () =>
		fails(json({ error: { message: "too long", code: 400 } }), "engineRefused", "too long"));

	it("is not held in memory above its limit", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		for (let sent = 0; sent <= 24; sent++) upstream.push(new Uint8Array(MiB).fill(32));
		expect(await failure).toMatchObject({
			key: "requestTooLarge",
			description: "The backend 'lab' answered with a reply above 25165824 bytes: request less at a time",
		});
		expect(upstream.cancelled).toBe(true);
	});

	it("fails if the connection breaks", async () => {
		const upstream = tap();
		const failure = failureOf(
			postJson(
				callOf(() => new Response(upstream.body)),
				"/route",
				{},
				Reply,
			),
		);
		upstream.push('{"ans');
		await vi.advanceTimersByTimeAsync(0);
		upstream.reset();
		expect(await failure).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' was cut off mid-answer",
		});
	});
});

describe("a file", () => {
	it("has the upstream's content type", async () => {
		const call = callOf(() => new Response("ID3", { headers: { "content-type": "audio/mpeg" } }));
		expect(await postBytes(call, "/audio/speech", {})).toEqual({
			bytes: new TextEncoder().encode("ID3"),
			contentType: "audio/mpeg",
		});
	});

	it("may be requested with GET", async () => {
		const call = callOf(() => new Response("ID3"));
		expect((await getBytes(call, "/files/a.mp3")).bytes).toEqual(new TextEncoder().encode("ID3"));
		expect(call.requests[0]).toMatchObject({
			url: "http://engine.test/v1/files/a.mp3",
			init: { method: "GET" },
		});
	});

	it("is not an error with status 200, not JSON, and not empty", async () => {
		const ask = (response: Response) =>
			failureOf(
				postBytes(
					callOf(() => response),
					"/audio/speech",
					{},
				),
			);
		expect(await ask(json({ error: { message: "no voice", code: 422 } }))).toMatchObject({
			key: "engineRefused",
			description: "no voice",
		});
		expect(await ask(json({ fine: true }))).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' answered with something that is not a file",
		});
		expect(await ask(new Response(""))).toMatchObject({ key: "executionFailed" });
	});

	it("may have no content type", async () => {
		const call = callOf(() => new Response(Uint8Array.of(1)));
		expect(await postBytes(call, "/audio/speech", {})).toStrictEqual({ bytes: Uint8Array.of(1) });
	});
});

describe("a requested stream", () => {
	const ask = (response: Response) =>
		postStream(
			callOf(() => response),
			"/route",
			{},
			{ schema: Reply, choices: 1 },
		);

	it("requests events, and accepts JSON", async () => {
		const call = callOf(() => json({ answer: 7 }));
		expect(await postStream(call, "/route", {}, { schema: Reply, choices: 1 })).toEqual({
			kind: "value",
			value: { answer: 7 },
		});
		expect(call.requests[0]?.headers.get("accept")).toBe("text/event-stream, application/json");
	});

	it("fails if the answer is HTML", async () => {
		const page = new Response("<html>", { headers: { "content-type": "text/html" } });
		expect(await failureOf(ask(page))).toMatchObject({ key: "executionFailed" });
	});

	it("is recognised by its media type, in upper or lower case", async () => {
		const reply = await ask(
			new Response('data: {"choices":[{}]}\n\n', {
				headers: { "content-type": "Text/Event-Stream; charset=utf-8" },
			}),
		);
		expect(reply.kind).toBe("stream");
		if (reply.kind === "stream") await reply.events.cancel();
	});
});

describe("a redirect", () => {
	it.each([301, 302, 307, 308])("with status %i is not followed", async (status) => {
		const call = callOf(
			() => new Response(null, { status, headers: { location: "http://elsewhere.test/v1/route" } }),
		);
		expect(await failureOf(postJson(call, "/route", {}, Reply))).toMatchObject({
			key: "upstreamUnavailable",
			description: "The backend 'lab' redirects, which is not followed",
		});
		expect(call.requests).toHaveLength(1);
	});
});

describe("an upstream that cannot be reached", () => {
	it("is unavailable, and the runtime's error is in `cause`, without secrets", async () => {
		const call = callOf(() => {
			throw new TypeError(`connect ECONNREFUSED with Bearer ${KEY}`);
		});
		const error = await failureOf(postJson(call, "/route", {}, Reply));
		expect(error).toMatchObject({
			key: "upstreamUnavailable",
			retryable: true,
			description: "The backend 'lab' cannot be reached",
			cause: new Error("TypeError: connect ECONNREFUSED with Bearer [redacted]"),
		});
	});
});

describe("an error's body", () => {
	it("is read up to its limit, and then cancelled", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body, { status: 500 }));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		upstream.push(new Uint8Array(65 * 1024));
		expect(await failure).toMatchObject({ key: "executionFailed" });
		expect(upstream.cancelled).toBe(true);
	});

	it("that is interrupted does not hide the status", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body, { status: 429 }));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		upstream.reset();
		expect(await failure).toMatchObject({ key: "outOfCapacity" });
	});

	it("that never arrives ends in a timeout", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body, { status: 500 }));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		await vi.advanceTimersByTimeAsync(TARGET.timeouts.idleMs);
		expect(await failure).toMatchObject({ key: "timeout" });
		expect(upstream.cancelled).toBe(true);
	});
});

describe("time limits", () => {
	const { headerMs, idleMs, totalMs } = TARGET.timeouts;

	it("do not limit the wait for the header of a complete answer, except for the limit of the call", async () => {
		const late = async () => {
			await new Promise((resolve) => setTimeout(resolve, totalMs - 1));
			return json({ answer: 1 });
		};
		const answer = postJson(callOf(late), "/route", {}, z.object({ answer: z.number() }));
		await vi.advanceTimersByTimeAsync(totalMs - 1);
		expect(await answer).toEqual({ answer: 1 });
	});

	it("apply to the header of a stream, and abort the upstream's fetch", async () => {
		const call = callOf(neverAnswers);
		const failure = failureOf(postStream(call, "/route", {}, { schema: Reply, choices: 1 }));
		await vi.advanceTimersByTimeAsync(headerMs - 1);
		expect(call.requests[0]?.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(await failure).toMatchObject({
			key: "timeout",
			description: `The backend 'lab' was silent for ${headerMs} ms`,
			upstream: { backend: "lab" },
		});
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});

	it("apply between two pieces of a value", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		for (let piece = 0; piece < 3; piece++) {
			await vi.advanceTimersByTimeAsync(idleMs - 1);
			upstream.push(" ");
		}
		await vi.advanceTimersByTimeAsync(idleMs - 1);
		expect(call.requests[0]?.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(await failure).toMatchObject({ key: "timeout" });
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("apply to the complete call of a busy upstream", async () => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body));
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		for (let passedMs = 0; passedMs < totalMs; passedMs += idleMs / 2) {
			upstream.push(" ");
			await vi.advanceTimersByTimeAsync(idleMs / 2);
		}
		expect(await failure).toMatchObject({
			key: "modelTimeout",
			description: `The backend 'lab' took longer than ${totalMs} ms`,
			upstream: { backend: "lab" },
		});
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});

	it("do not abort a call that has ended", async () => {
		const call = callOf(() => json({ answer: 1 }));
		await postJson(call, "/route", {}, Reply);
		await vi.advanceTimersByTimeAsync(totalMs * 2);
		expect(call.requests[0]?.signal.aborted).toBe(false);
	});

	it("may be infinite", async () => {
		const none = Number.POSITIVE_INFINITY;
		const call = callOf(() => json({ answer: 1 }), {
			target: { timeouts: { headerMs: none, idleMs: none, totalMs: none } },
		});
		expect(await postJson(call, "/route", {}, Reply)).toEqual({ answer: 1 });
	});
});

describe("a caller who disconnects", () => {
	const aborted = { key: "aborted", description: "Request was aborted" };

	it("before the call prevents it: nothing is sent", async () => {
		const call = callOf(() => json({ answer: 1 }));
		call.disconnect();
		expect(await failureOf(postJson(call, "/route", {}, Reply))).toMatchObject(aborted);
		expect(call.requests).toHaveLength(0);
	});

	it("before the header ends the upstream's fetch at once", async () => {
		const call = callOf(neverAnswers);
		const failure = failureOf(postJson(call, "/route", {}, Reply));
		await vi.advanceTimersByTimeAsync(0);
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await failure).toMatchObject(aborted);
	});

	it.each(["value", "file", "error"])("within a %s ends the upstream's fetch at once", async (kind) => {
		const upstream = tap();
		const call = callOf(() => new Response(upstream.body, { status: kind === "error" ? 500 : 200 }));
		const work = kind === "file" ? postBytes(call, "/route", {}) : postJson(call, "/route", {}, Reply);
		const failure = failureOf(work);
		upstream.push("{");
		await vi.advanceTimersByTimeAsync(0);
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await failure).toMatchObject(aborted);
		await vi.advanceTimersByTimeAsync(0);
		expect(upstream.cancelled).toBe(true);
	});

	it("after the call does not abort the fetch", async () => {
		const call = callOf(() => json({ answer: 1 }));
		await postJson(call, "/route", {}, Reply);
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(false);
	});

	it("within a stream errors it", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push('data: {"choices":[]}\n\n');
		const reply = await postStream(call, "/route", {}, { schema: Reply, choices: 1 });
		if (reply.kind !== "stream") throw new Error("no stream");
		const reader = reply.events.getReader();
		await reader.read();
		const read = failureOf(reader.read());
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await read).toMatchObject(aborted);
		expect(upstream.cancelled).toBe(true);
	});
});
