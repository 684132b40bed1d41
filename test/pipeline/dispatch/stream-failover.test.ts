import { describe, expect, it } from "vitest";
import type { Served } from "../../../src/pipeline/request.ts";
import type { Progress, TaskCall } from "../../../src/tasks/task.ts";
import { drain } from "../../backends/upstream.ts";
import { DONE, events, liveEvents } from "../../gateway.ts";
import { type Reply, silent, status, streamed, target, type WorldOptions, world } from "./world.ts";

const PIECE_BYTES = 64 * 1024;
const WORDS = Array.from({ length: 60 }, (_, i) => `w${i} `);

const frame = (engine: string, choices: unknown[], more: object = {}): string =>
	`data: ${JSON.stringify({ id: `${engine}-id`, object: "chat.completion.chunk", created: engine.charCodeAt(0), model: `${engine}-model`, choices, ...more })}\n\n`;
const word = (engine: string, content: string) =>
	frame(engine, [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]);
const end = (engine: string, completion_tokens: number, prompt_tokens = 5) =>
	frame(engine, [{ index: 0, delta: {}, finish_reason: "stop" }]) +
	frame(engine, [], {
		usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
	}) +
	DONE;

const say = (engine: string, words: string[]) => words.map((text) => word(engine, text)).join("");
const whole: Reply = ({ engine }) => events(say(engine, WORDS), end(engine, 60));
const cutAfter =
	(count: number): Reply =>
	({ engine }) =>
		events(say(engine, WORDS.slice(0, count)));

/** As a host sends them. The runtime cannot pipe a body that is in memory: it rejects a promise that no code can handle. */
function inPieces(text: string): Response {
	const bytes = new TextEncoder().encode(text);
	let at = 0;
	const body = new ReadableStream({
		type: "bytes",
		pull(controller) {
			if (at < bytes.length) controller.enqueue(bytes.slice(at, at + PIECE_BYTES));
			else {
				controller.close();
				controller.byobRequest?.respond(0);
			}
			at += PIECE_BYTES;
		},
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

interface Seen {
	/** Contents in order. */
	text: string;
	ids: Set<string>;
	models: Set<string>;
	usage: unknown;
	done: boolean;
	comments: string[];
	error?: unknown;
	served: Served;
	progress: Progress;
	engines: string[];
	logged: [string, number][];
	asked: ReturnType<typeof world>["asked"];
}

async function ask(options: WorldOptions, call: TaskCall = streamed()): Promise<Seen> {
	const { asked, engines, logged, run } = world(options);
	const { answer, served } = await run(call);
	if (answer.answer.kind !== "stream") throw new Error("no stream");
	const { text, error } = await drain(answer.answer.events);
	const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => json ?? "");
	const chunks = data.filter((json) => json !== "[DONE]").map((json) => JSON.parse(json));
	return {
		text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
		ids: new Set(chunks.map(({ id }) => id)),
		models: new Set(chunks.map(({ model }) => model)),
		usage: chunks.findLast(({ usage }) => usage)?.usage,
		done: data.at(-1) === "[DONE]",
		comments: [...text.matchAll(/^: (.*)$/gm)].map(([, comment]) => comment ?? ""),
		...(error !== undefined && { error }),
		served,
		progress: answer.answer.progress,
		engines: engines(),
		logged,
		asked,
	};
}

describe("a stream that is well", () => {
	it("passes to the byte", async () => {
		const { run } = world({ replies: { a: whole, b: whole } });
		const { answer } = await run(streamed());
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		expect((await drain(answer.answer.events)).text).toBe(say("a", WORDS) + end("a", 60));
		expect(answer.answer.progress.usage).toMatchObject({ completion_tokens: 60 });
	});
});

describe("a stream that is cut", () => {
	it("continues with the next engine, which replays the beginning", async () => {
		const seen = await ask({ replies: { a: cutAfter(40), b: whole } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b"] });
		expect(seen.error).toBeUndefined();
		// One answer: its name stays. Whose words they are is told by the chunks, and at the end.
		expect(seen.ids).toEqual(new Set(["a-id"]));
		expect(seen.models).toEqual(new Set(["a-model", "b-model"]));
		expect(seen.comments).toEqual(["ganglion backend=b attempts=2"]);
		expect(seen.usage).toEqual({ prompt_tokens: 5, completion_tokens: 60, total_tokens: 65 });
		expect(seen.progress.usage).toEqual(seen.usage);
		expect(seen.logged).toEqual([["id", 5001]]);
		expect(seen.served).toEqual({
			backend: "b",
			kind: "openai",
			model: "b-model",
			attempts: 2,
			wasted: [
				{ why: "cut", backend: "a", model: "a-model", progress: { usage: undefined, outputTokens: 40 } },
			],
		});
	});

	it("wastes nothing if the first stream had no content", async () => {
		const role: Reply = () =>
			events(frame("a", [{ index: 0, delta: { role: "assistant" }, finish_reason: null }]));
		const seen = await ask({ replies: { a: role, b: whole } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b"] });
		expect(seen.served.wasted).toEqual([]);
	});

	it("sends the same input, with its seed", async () => {
		const { asked } = await ask({ replies: { a: cutAfter(40), b: whole } });
		const [first, second] = asked.map(({ body: { model: _, ...body } }) => body);
		expect(second).toEqual(first);
		expect(second).toMatchObject({ seed: 7 });
	});

	it("continues from the transcript, if the engine can; the bill is for the complete text", async () => {
		const rest: Reply = ({ engine }) => events(say(engine, WORDS.slice(40)), end(engine, 20, 45));
		const seen = await ask(
			{ replies: { a: cutAfter(40), b: rest }, targets: { b: { continues: "vllm" } } },
			streamed({ max_tokens: 100 }),
		);
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true });
		expect(seen.asked[1]?.body).toMatchObject({
			messages: [
				{ role: "user", content: "Hi" },
				{ role: "assistant", content: WORDS.slice(0, 40).join("") },
			],
			continue_final_message: true,
			add_generation_prompt: false,
			max_tokens: 60,
		});
		expect(seen.usage).toEqual({ prompt_tokens: 5, completion_tokens: 60, total_tokens: 65 });
		expect(seen.progress.usage).toEqual(seen.usage);
		expect(seen.served.wasted).toEqual([]);
	});

	it("wastes the only token of the first stream", async () => {
		const seen = await ask({ replies: { a: cutAfter(1), b: whole } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true });
		expect(seen.served.wasted).toMatchObject([{ why: "cut", backend: "a", progress: { outputTokens: 1 } }]);
	});

	it("calls an engine again without the transcript, if it refuses it", async () => {
		const seen = await ask({
			replies: { a: cutAfter(40), b: [status(400), whole] },
			targets: { b: { continues: "vllm" } },
		});
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "b"] });
		expect(seen.asked[2]?.body).not.toHaveProperty("continue_final_message");
		expect(seen.comments).toEqual(["ganglion backend=b attempts=3"]);
	});

	it("calls the next engine if one fails to continue the transcript", async () => {
		const seen = await ask({
			replies: { a: cutAfter(40), b: [status(503), whole], c: whole },
			targets: { b: { continues: "vllm" } },
		});
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "c"] });
	});

	it("ends in one error if the replay diverges, without its content", async () => {
		const other: Reply = ({ engine }) => events(say(engine, ["Something ", "else."]), end(engine, 2));
		const seen = await ask({ replies: { a: cutAfter(40), b: other } });
		expect(seen.text).toBe(WORDS.slice(0, 40).join(""));
		expect(seen).toMatchObject({ done: false, engines: ["a", "b"], comments: [] });
		expect(seen.error).toMatchObject({
			code: 5001,
			description:
				"The backend 'a' was cut off mid-answer (called in turn: a: 5001, was cut off mid-answer; " +
				"b: 5001, answered otherwise than the one before it)",
		});
		expect(seen.progress).toMatchObject({ usage: undefined, outputTokens: 40 });
		expect(seen.served.wasted.map(({ backend }) => backend)).toEqual(["a", "b"]);
		// The bill is of what was heard, and names who said it.
		expect(seen.served).toMatchObject({ backend: "a", model: "a-model", attempts: 2 });
	});

	it("counts the earlier part once after an engine that did not continue it", async () => {
		// The text without its last space is sent, so the second engine must begin with that.
		const other: Reply = ({ engine }) => events(say(engine, ["Else."]), end(engine, 1));
		const rest: Reply = ({ engine }) => events(say(engine, WORDS.slice(3)), end(engine, 57));
		const seen = await ask(
			{
				replies: { a: cutAfter(3), b: [other, status(500)], c: rest },
				targets: { b: { continues: "prefill" }, c: { continues: "vllm" } },
			},
			streamed({ max_tokens: 60 }),
		);
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "c"] });
		expect(seen.asked.map(({ body }) => body.max_tokens)).toEqual([60, 57, 57]);
	});

	it("tries every target that is left", async () => {
		const other: Reply = ({ engine }) => events(say(engine, ["Else."]), end(engine, 1));
		const seen = await ask({ replies: { a: cutAfter(40), b: status(500), c: other, d: whole } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "c", "d"] });
	});

	it("does not go on at a target that continues no stream", async () => {
		const targets = { b: { continues: false } } as const;
		const seen = await ask({ replies: { a: cutAfter(40), b: whole, c: whole }, targets });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "c"] });
	});

	it("ends with its failure if no target continues a stream", async () => {
		const targets = { a: { continues: false }, b: { continues: false } } as const;
		const seen = await ask({ replies: { a: cutAfter(40), b: whole }, targets });
		expect(seen).toMatchObject({ text: WORDS.slice(0, 40).join(""), done: false, engines: ["a"] });
		expect(seen.error).toMatchObject({ key: "executionFailed" });
		expect(seen.logged).toHaveLength(1);
	});

	it("continues with the target that a hedge stopped", async () => {
		const seen = await ask({ replies: { a: [silent, whole], b: cutAfter(20) }, plan: { hedgeMs: 200 } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "a"] });
	});

	it("continues when the second stream is interrupted, too", async () => {
		const seen = await ask({ replies: { a: cutAfter(20), b: cutAfter(40), c: whole } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true });
		expect(seen.comments).toEqual(["ganglion backend=c attempts=3"]);
		const sooner = await ask({ replies: { a: cutAfter(40), b: cutAfter(20), c: whole } });
		expect(sooner).toMatchObject({ text: WORDS.join(""), done: true });
	});

	it("calls the interrupted engine again if no other target remains, within the route's attempts", async () => {
		const retries = { attempts: 2, baseMs: 1, maxMs: 1 };
		const seen = await ask({
			replies: { a: [cutAfter(40), whole], b: status(500) },
			plan: { retries },
		});
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b", "a"] });
	});

	it("errors with the interruption when no target remains", async () => {
		const seen = await ask({ replies: { a: cutAfter(40), b: status(503) } });
		expect(seen.error).toMatchObject({
			description:
				"The backend 'a' was cut off mid-answer (called in turn: a: 5001, was cut off mid-answer; b: 3040, HTTP 503)",
		});
		expect(seen.done).toBe(false);
		// The surface tells of the end alone.
		expect(seen.logged).toEqual([
			["id", 5001],
			["id", 3040],
		]);
	});

	it("names the last engine that sent a part of it", async () => {
		const { served, text, error } = await ask({
			replies: { a: cutAfter(3), b: cutAfter(5), c: status(500) },
		});
		expect(error).toBeDefined();
		expect(text).toBe(WORDS.slice(0, 5).join(""));
		expect(served).toMatchObject({ backend: "b", model: "b-model", attempts: 3 });
	});

	it("errors with the engine's retry-after", async () => {
		const text = { candidates: [{ content: { role: "model", parts: [{ text: "w0 " }] } }] };
		const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }];
		const error = { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details };
		const full: Reply = () =>
			events(`data: ${JSON.stringify(text)}\n\n`, `data: ${JSON.stringify({ error })}\n\n`);
		const seen = await ask({
			replies: { a: full, b: status(503) },
			targets: { a: { kind: "gemini" } },
		});
		expect(seen.text).toBe("w0 ");
		expect(seen.error).toMatchObject({ code: 3040, retryAfter: 7 });
	});

	it("accepts a complete reply as the remainder", async () => {
		const value: Reply = () =>
			Response.json({
				choices: [{ message: { content: WORDS.join("") }, finish_reason: "stop" }],
				usage: { prompt_tokens: 5, completion_tokens: 60, total_tokens: 65 },
			});
		const seen = await ask({ replies: { a: cutAfter(40), b: value } });
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true });
		expect(seen.progress.usage).toMatchObject({ completion_tokens: 60 });
	});

	it("counts a complete reply without usage itself", async () => {
		const value: Reply = () =>
			Response.json({ choices: [{ message: { content: "and more" }, finish_reason: "stop" }] });
		const targets = { b: { continues: "vllm" } } as const;
		const seen = await ask({ replies: { a: cutAfter(3), b: value }, targets });
		expect(seen).toMatchObject({ text: "w0 w1 w2 and more", done: true });
		expect(seen.progress.usage).toBeUndefined();
		expect(seen.progress.outputTokens).toBe(5);
	});

	it.each([
		["of 4 MiB is joined", 4 * 1024 * 1024, ["a", "b"]],
		["of 4 MiB and one character is not joined: its events are not kept", 4 * 1024 * 1024 + 1, ["a"]],
	])("%s", async (_, length, engines) => {
		// Two events: what is counted is the data of both.
		const dataLength = (event: string) => event.slice("data: ".length, -"\n\n".length).length;
		const empty = word("a", "");
		const half = "x".repeat(2 * 1024 * 1024 - dataLength(empty));
		const rest = "y".repeat(length - 2 * 1024 * 1024 - dataLength(empty));
		const sent = [half, rest];
		expect(sent.reduce((sum, text) => sum + dataLength(word("a", text)), 0)).toBe(length);
		const cut: Reply = () => inPieces(say("a", sent));
		const second: Reply = () => inPieces(say("b", [...sent, "end"]) + end("b", 3));
		const seen = await ask({ replies: { a: cut, b: second } });
		expect(seen.engines).toEqual(engines);
		expect(seen.done).toBe(engines.length === 2);
		expect(seen.text.length).toBe(half.length + rest.length + (engines.length === 2 ? "end".length : 0));
	});

	it.each([
		["several answers", { n: 2 }],
		["probabilities of tokens", { logprobs: true }],
	])("is not joined where it has %s", async (_, more) => {
		const seen = await ask({ replies: { a: cutAfter(40), b: whole } }, streamed(more));
		expect(seen.engines).toEqual(["a"]);
		expect(seen.error).toMatchObject({ code: 5001 });
	});

	it("is not joined by a refusal in the middle of it", async () => {
		const refusing: Reply = ({ engine }) =>
			events(
				say(engine, WORDS.slice(0, 3)),
				`data: {"error":{"message":"no","code":"content_filter","type":"x"}}\n\n`,
			);
		const seen = await ask({ replies: { a: refusing, b: whole } });
		expect(seen.engines).toEqual(["a"]);
		expect(seen.error).toMatchObject({ key: "refusedByModel" });
	});

	it("reports to the circuit of its engine", async () => {
		const { run, services } = world({ replies: { a: cutAfter(1), b: whole } });
		for (let i = 0; i < 5; i++) {
			const { answer } = await run(streamed());
			if (answer.answer.kind === "stream") await drain(answer.answer.events);
		}
		const { served } = await run(streamed());
		expect(served.backend).toBe("b");
		expect(services.health.circuit({ backend: "b", url: "http://b/v1", model: "b-model" })).toBe("closed");
	});
});

describe("a stream that falls silent", () => {
	it("continues with another engine, and cancels the silent one", async () => {
		const live = liveEvents();
		live.send(say("a", WORDS.slice(0, 40)));
		const seen = await ask({
			replies: { a: () => live.response, b: whole },
			targets: { a: { timeouts: { headerMs: 1000, idleMs: 20, totalMs: 5000 } } },
		});
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true });
		expect(seen.asked[0]?.signal.aborted).toBe(true);
		await live.cancelled;
	});

	it("before its first event fails over sooner than in the middle", async () => {
		const live = liveEvents();
		const seen = await ask({
			replies: { a: () => live.response, b: whole },
			targets: { a: { timeouts: { headerMs: 1000, firstTokenMs: 20, idleMs: 60_000, totalMs: 60_000 } } },
		});
		expect(seen).toMatchObject({ text: WORDS.join(""), done: true, engines: ["a", "b"], comments: [] });
		await live.cancelled;
	});
});

describe("a caller that disconnects", () => {
	it("while the stream is well, ends the upstream's call", async () => {
		const live = liveEvents();
		live.send(word("a", "w0 "));
		const { asked, run } = world({ replies: { a: () => live.response, b: whole } });
		const { answer } = await run(streamed());
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		const reader = answer.answer.events.getReader();
		await reader.read();
		await reader.cancel();
		await live.cancelled;
		expect(asked.map(({ engine, signal }) => [engine, signal.aborted])).toEqual([["a", true]]);
	});

	it("at the moment at which a stream breaks, says nothing about its engine", async () => {
		const live = liveEvents();
		const { caller, run, services } = world({ replies: { a: () => live.response, b: whole } });
		for (let i = 0; i < 4; i++) services.health.start(target("a")).fail();
		live.send(word("a", "w0 "));
		const { answer } = await run(streamed());
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		const reader = answer.answer.events.getReader();
		await reader.read();
		const read = reader.read().catch((error) => error);
		live.fail(new Error("connection reset"));
		caller.abort();
		expect(await read).toBeDefined();
		expect(services.health.circuit(target("a"))).toBe("closed");
	});

	it.each(["cancels", "leaves"])("while another engine is called (%s)", async (how) => {
		const { asked, caller, engines, run } = world({ replies: { a: cutAfter(3), b: silent, c: whole } });
		const { answer, served } = await run(streamed());
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		const reader = answer.answer.events.getReader();
		const read = (async () => {
			while (!(await reader.read()).done);
		})().catch((error) => error);
		while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve));
		if (how === "cancels") await reader.cancel();
		else caller.abort();
		const error = await read;
		if (how === "leaves") expect(error).toMatchObject({ key: "aborted" });
		expect(asked[1]?.signal.aborted).toBe(true);
		await new Promise((resolve) => setTimeout(resolve, 5));
		expect(engines()).toEqual(["a", "b"]);
		expect(served.attempts).toBe(2);
	});

	it("while another engine replays the beginning", async () => {
		const live = liveEvents();
		live.send(say("b", WORDS.slice(0, 2)));
		const { asked, run } = world({ replies: { a: cutAfter(3), b: () => live.response } });
		const { answer } = await run(streamed());
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		const reader = answer.answer.events.getReader();
		void (async () => {
			while (!(await reader.read()).done);
		})();
		while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve));
		await new Promise((resolve) => setTimeout(resolve, 5));
		await reader.cancel();
		await live.cancelled;
		expect(asked[1]?.signal.aborted).toBe(true);
	});

	describe("without usage", () => {
		/** Tokens that are counted when `a`, who said three words, was cut, and the caller leaves amid the answer of `b`. */
		const tokensOf = async (words: string[], more: WorldOptions["targets"] = {}) => {
			const live = liveEvents();
			live.send(say("b", words));
			const { asked, run } = world({
				replies: { a: cutAfter(3), b: () => live.response },
				targets: more,
			});
			const { answer } = await run(streamed());
			if (answer.answer.kind !== "stream") throw new Error("no stream");
			const { events: passed, progress } = answer.answer;
			const reader = passed.getReader();
			void (async () => {
				while (!(await reader.read()).done);
			})();
			while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve));
			await new Promise((resolve) => setTimeout(resolve, 5));
			await reader.cancel();
			return progress.outputTokens;
		};

		it("counts what the caller has once, where the second repeats it", async () => {
			expect(await tokensOf(WORDS.slice(0, 2))).toBe(3);
			expect(await tokensOf(WORDS.slice(0, 5))).toBe(5);
		});

		it("counts the tokens of both, if the second continues the first", async () => {
			const targets = { b: { continues: "vllm" } } as const;
			expect(await tokensOf(WORDS.slice(3, 5), targets)).toBe(5);
		});
	});

	describe("an engine that counts with every event", () => {
		const counted = (engine: string, words: number, tokens: number) =>
			frame(engine, [{ index: 0, delta: { content: WORDS[words] ?? "" }, finish_reason: null }], {
				usage: { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens },
			});
		/** What is counted when `a`, who said three words, was cut, and the caller leaves amid the answer of `b`. */
		const usageOf = async (first: Reply, ...second: string[]) => {
			const live = liveEvents();
			live.send(second.join(""));
			const { asked, run } = world({ replies: { a: first, b: () => live.response } });
			const { answer } = await run(streamed());
			if (answer.answer.kind !== "stream") throw new Error("no stream");
			const { events: passed, progress } = answer.answer;
			const reader = passed.getReader();
			void (async () => {
				while (!(await reader.read()).done);
			})();
			while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve));
			await new Promise((resolve) => setTimeout(resolve, 5));
			await reader.cancel();
			return progress.usage;
		};
		const usage = (completion_tokens: number) => ({
			prompt_tokens: 5,
			completion_tokens,
			total_tokens: 5 + completion_tokens,
		});

		it("is not used before its replay is complete", async () => {
			const two = [counted("b", 0, 1), counted("b", 1, 2)];
			expect(await usageOf(cutAfter(3), ...two)).toEqual(usage(3));
			const first: Reply = () => events(counted("a", 0, 2), counted("a", 1, 4), counted("a", 2, 6));
			expect(await usageOf(first, ...two)).toEqual(usage(6));
		});

		it("is used after its replay is complete", async () => {
			const first: Reply = () => events(counted("a", 0, 2), counted("a", 1, 4), counted("a", 2, 6));
			const three = [counted("b", 0, 1), counted("b", 1, 1), counted("b", 2, 2)];
			expect(await usageOf(first, ...three)).toEqual(usage(2));
		});
	});
});
