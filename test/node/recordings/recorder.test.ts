/** What is recorded and replayed, and the error of a call without a recording. */
import { describe, expect, it } from "vitest";
import { Recorder, type RecorderSettings } from "../../../miniflare/recordings/recorder.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const FILE = "app.json";

const runOf = (inputs: unknown, options?: object): Request =>
	new Request("https://workers-binding.ai/run?version=3", {
		method: "POST",
		headers: {
			"content-type": "application/json",
			"cf-consn-model-id": LLAMA,
			authorization: "Bearer of-the-caller",
		},
		body: JSON.stringify({ inputs, options: options ?? {} }),
	});

const json = (value: unknown, init?: ResponseInit): Response =>
	new Response(JSON.stringify(value), { ...init, headers: { "content-type": "application/json" } });

function recorderOf(settings: Partial<RecorderSettings>, files = new Map<string, string>()) {
	const warnings: string[] = [];
	const counts = { reads: 0, writes: 0 };
	const store = {
		stamp: async (name: string) => files.get(name),
		async read(name: string) {
			counts.reads++;
			return files.get(name);
		},
		async write(name: string, text: string) {
			counts.writes++;
			files.set(name, text);
		},
		remove: async (name: string) => void files.delete(name),
	};
	const waits: number[] = [];
	let now = 0;
	const recorder = new Recorder({
		settings: { mode: "once", ignore: [], secrets: [], folder: "recordings/AI", ...settings },
		store,
		file: FILE,
		now: () => now,
		async wait(milliseconds) {
			waits.push(milliseconds);
			// Timers of a slow store run meanwhile.
			await new Promise<void>((done) => setImmediate(done));
		},
		warn: (line) => warnings.push(line),
	});
	const passTime = (milliseconds: number) => {
		now += milliseconds;
	};
	return { counts, files, passTime, recorder, store, waits, warnings };
}

/** A gateway that gives these responses in turn, and the requests that it got. */
function gateway(...responses: Response[]) {
	const received: Request[] = [];
	const forward = async (request: Request): Promise<Response> => {
		received.push(request);
		const response = responses.shift();
		if (!response) throw new Error("The gateway was not expected to be called");
		return response;
	};
	return { forward, received, waitUntil: () => {} };
}

const closed = gateway();
const answersIn = (files: Map<string, string>, file = FILE) => {
	const { recordings } = JSON.parse(files.get(file) ?? "");
	return recordings.map(
		({ test, input, answers }: { test?: string; input: unknown; answers: { json: unknown }[] }) => ({
			...(test !== undefined && { test }),
			input,
			answers: answers.map(({ json }) => json),
		}),
	);
};

describe("a recorder", () => {
	it("forwards a call with its body and headers, records it, and replays its status, headers and body", async () => {
		const { files, recorder } = recorderOf({});
		const sent = { response: "Hi" };
		const headers = {
			"content-type": "application/json",
			"cf-ai-neurons": "0.5",
			date: "now",
			"set-cookie": "a=b",
		};
		const upstream = gateway(new Response(JSON.stringify(sent), { status: 200, headers }));
		const first = await recorder.answer(runOf({ prompt: "Hello" }), upstream);
		expect(await first.json()).toEqual(sent);
		expect(upstream.received[0]?.headers.get("authorization")).toBe("Bearer of-the-caller");
		expect(await upstream.received[0]?.json()).toEqual({ inputs: { prompt: "Hello" }, options: {} });
		const text = files.get(FILE) ?? "";
		expect(JSON.parse(text)).toEqual({
			version: 1,
			recordings: [
				{
					call: "run",
					model: LLAMA,
					input: { prompt: "Hello" },
					answers: [
						{
							status: 200,
							headers: { "content-type": "application/json", "cf-ai-neurons": "0.5" },
							json: sent,
						},
					],
				},
			],
		});
		const again = await recorderOf({ mode: "replay" }, files).recorder.answer(
			runOf({ prompt: "Hello" }),
			closed,
		);
		expect(await again.text()).toBe(JSON.stringify(sent));
		expect(again.headers.get("cf-ai-neurons")).toBe("0.5");
		expect(files.get(FILE)).toBe(text);
	});

	it("compares inputs in any order of their fields, and without what differs in each run", async () => {
		const { files, recorder } = recorderOf({ ignore: ["messages.*.id", "seed"] });
		const messages = (id: string) => [{ role: "user", content: "Hello", id }];
		const first = { messages: messages("1"), seed: 1, user: "alice", max_tokens: 5 };
		const upstream = gateway(json({ response: "Hi" }));
		await recorder.answer(runOf(first, { gateway: { id: "a", metadata: { run: 1 } } }), upstream);
		expect(files.get(FILE)).not.toMatch(/alice|metadata|seed|"id":"1"/);
		const second = { max_tokens: 5, user: "bob", seed: 2, messages: messages("2") };
		const answer = await recorder.answer(
			runOf(second, { gateway: { id: "a", metadata: { run: 2 } } }),
			closed,
		);
		expect(await answer.json()).toEqual({ response: "Hi" });
	});

	it("keeps the size and the digest of bytes", async () => {
		const { files, recorder } = recorderOf({});
		const bytes = Array.from({ length: 300 }, (_, at) => at % 256);
		const base64 = Buffer.from("a".repeat(900)).toString("base64");
		await recorder.answer(runOf({ image: bytes, audio: base64 }), gateway(json({})));
		expect(answersIn(files)[0].input).toEqual({
			image: expect.stringMatching(/^<300 numbers, sha256 [\da-f]{64}>$/),
			audio: expect.stringMatching(/^<1200 characters, sha256 [\da-f]{64}>$/),
		});
	});

	it.each([
		["with its boundary", (type: string) => type],
		["as the binding sends it, without one", () => "multipart/form-data"],
	])("takes forms with the same parts for the same call: a type %s", async (_, typeOf) => {
		const { files, recorder } = recorderOf({});
		const request = async () => {
			const form = new FormData();
			form.set("prompt", "a fox");
			for (const name of ["1", "2"])
				form.append("image", new File([name], `${name}.png`, { type: "image/png" }));
			const response = new Response(form);
			const type = typeOf(response.headers.get("content-type") ?? "");
			return new Request("https://workers-binding.ai/run?version=3&userInputs=%7B%22a%22%3A1%7D", {
				method: "POST",
				headers: { "cf-consn-model-id": LLAMA, "content-type": type },
				body: await response.bytes(),
			});
		};
		await recorder.answer(await request(), gateway(json({ image: "1" })));
		expect(await (await recorder.answer(await request(), closed)).json()).toEqual({ image: "1" });
		const image = (name: string) => ({
			...{ name: "image", filename: `${name}.png`, contentType: "image/png" },
			bytes: expect.stringMatching(/^<1 bytes, sha256 /),
		});
		expect(answersIn(files)[0].input).toEqual({
			a: 1,
			body: [{ name: "prompt", value: "a fox" }, image("1"), image("2")],
		});
	});

	it.each([
		["text/plain", "no JSON"],
		["application/json", "{"],
		["multipart/form-data", "no form"],
		["application/octet-stream", ""],
		["", "\u0000"],
	])("forwards a body of the type %j that cannot be read: %j", async (type, body) => {
		const { recorder } = recorderOf({});
		const request = () =>
			new Request("https://workers-binding.ai/run", {
				method: "POST",
				headers: { "content-type": type },
				body,
			});
		const upstream = gateway(json(1, { status: 400 }));
		await recorder.answer(request(), upstream);
		expect(await upstream.received[0]?.text()).toBe(body);
		expect((await recorder.answer(request(), closed)).status).toBe(400);
	});

	it("has an answer for each of equal calls of a test, and repeats the last one", async () => {
		const { files, recorder } = recorderOf({});
		const upstream = gateway(json(1), json(2));
		recorder.begin("a.test.ts.json", "asks");
		// Both wait for their answers at the same time.
		await Promise.all([recorder.answer(runOf("x"), upstream), recorder.answer(runOf("x"), upstream)]);
		const replaying = recorderOf({ mode: "replay" }, files).recorder;
		replaying.begin("a.test.ts.json", "asks");
		const replayed = [];
		for (let call = 0; call < 3; call++)
			replayed.push(await (await replaying.answer(runOf("x"), closed)).json());
		expect(replayed).toEqual([1, 2, 2]);
		replaying.begin("a.test.ts.json", "asks");
		expect(await (await replaying.answer(runOf("x"), closed)).json()).toBe(1);
	});

	it("records a test again in the mode record, and leaves the others", async () => {
		const { files, recorder } = recorderOf({});
		for (const test of ["one", "two"]) {
			recorder.begin(FILE, test);
			await recorder.answer(runOf(`old of ${test}`), gateway(json(test)));
		}
		const again = recorderOf({ mode: "record" }, files).recorder;
		again.begin(FILE, "one");
		const upstream = gateway(json("new"), json("new too"));
		await again.answer(runOf("new"), upstream);
		await again.answer(runOf("new"), upstream);
		expect(answersIn(files)).toEqual([
			{ test: "one", input: "new", answers: ["new", "new too"] },
			{ test: "two", input: "old of two", answers: ["two"] },
		]);
	});

	const headers = { "content-type": "text/event-stream" };

	/** A response with these chunks, each 20 ms after the one before. */
	function streamOf(chunks: readonly string[], passTime: (milliseconds: number) => void): Response {
		let next = 0;
		const body = new ReadableStream<Uint8Array>({
			pull(controller) {
				passTime(20);
				const chunk = chunks[next++];
				if (chunk === undefined) controller.close();
				else controller.enqueue(new TextEncoder().encode(chunk));
			},
		});
		return new Response(body, { headers });
	}

	it("keeps the earlier recordings of a test whose calls were not recorded again", async () => {
		const { files, recorder } = recorderOf({});
		recorder.begin(FILE, "one");
		await recorder.answer(runOf("x"), gateway(json("old")));
		const again = recorderOf({ mode: "record" }, files).recorder;
		again.begin(FILE, "one");
		await again.answer(runOf("x"), gateway(json({}, { status: 429 })));
		again.begin(FILE, "two");
		await again.answer(runOf("y"), gateway(json("new")));
		expect(answersIn(files)).toEqual([
			{ test: "one", input: "x", answers: ["old"] },
			{ test: "two", input: "y", answers: ["new"] },
		]);
	});

	it("replays a stream with its events, at once or at a multiple of its speed", async () => {
		const { files, passTime, recorder, waits } = recorderOf({});
		const parts = [
			'data: {"response":"a"}\n\nda',
			'ta: {"response": "b"}\n\n',
			"event: end\r\ndata: [DONE]\r\n\r",
			"\nrest",
		];
		const recorded = await recorder.answer(runOf("stream"), gateway(streamOf(parts, passTime)));
		const text = await recorded.text();
		expect(text).toBe(parts.join(""));
		const [{ answers }] = JSON.parse(files.get(FILE) ?? "").recordings;
		const times = answers[0].events.map(({ at }: { at: number }) => at);
		expect(answers[0].events).toEqual([
			{ at: times[0], json: { response: "a" } },
			{ at: times[1], text: 'data: {"response": "b"}\n\n' },
			{ at: times[2], text: "event: end\r\ndata: [DONE]\r\n\r\n" },
			{ at: times[3], text: "rest" },
		]);
		expect(await (await recorder.answer(runOf("stream"), closed)).text()).toBe(text);
		expect(waits).toEqual([]);
		const slow = recorderOf({ mode: "replay", speed: 0.5 }, files);
		expect(await (await slow.recorder.answer(runOf("stream"), closed)).text()).toBe(text);
		expect(times[2]).toBeGreaterThan(times[0]);
		const [first, second, third, last] = times;
		expect(slow.waits).toEqual([first, second - first, third - second, last - third].map((wait) => wait * 2));
	});

	it("does not record a stream that breaks off", async () => {
		const { files, recorder, warnings } = recorderOf({});
		const broken = new ReadableStream<Uint8Array>({
			start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
			pull: (controller) => controller.error(new Error("Network connection lost")),
		});
		const cut = await recorder.answer(runOf("cut"), gateway(new Response(broken, { headers })));
		await expect(cut.text()).rejects.toThrow("Network connection lost");
		expect(files.size).toBe(0);
		expect(warnings).toEqual([`run("${LLAMA}") was not recorded: its stream broke off`]);
	});

	/** Its caller leaves while the second chunk is awaited. */
	async function leave(recorder: Recorder, test?: string): Promise<void> {
		if (test !== undefined) recorder.begin(FILE, test);
		let chunks = 0;
		const endless = new ReadableStream<Uint8Array>({
			pull: (controller) =>
				chunks++ === 0
					? controller.enqueue(new TextEncoder().encode("data: 1\n\nda"))
					: new Promise(() => {}),
		});
		const response = await recorder.answer(runOf("left"), gateway(new Response(endless, { headers })));
		const reader = response.body?.getReader();
		await reader?.read();
		await reader?.cancel();
	}

	it("records for a test how far its caller reads a stream, and what follows is an error", async () => {
		const { files, recorder } = recorderOf({});
		await leave(recorder, "leaves");
		const replaying = recorderOf({ mode: "replay" }, files).recorder;
		replaying.begin(FILE, "leaves");
		const reader = (await replaying.answer(runOf("left"), closed)).body?.getReader();
		expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
		const readToEnd = async () => {
			while (!(await reader?.read())?.done);
		};
		await expect(readToEnd()).rejects.toThrow("The recorded caller left the stream here");
	});

	it("does not record outside of tests a stream that its caller leaves", async () => {
		const { files, recorder, warnings } = recorderOf({});
		await leave(recorder);
		expect(files.size).toBe(0);
		expect(warnings).toEqual([`run("${LLAMA}") was not recorded: its caller left the stream`]);
	});

	it("reads a large event in linear time, and stops at the largest answer", async () => {
		const { files, passTime, recorder, warnings } = recorderOf({});
		const chunks = Array.from({ length: 1_500 }, () => "a".repeat(4_096));
		const response = await recorder.answer(runOf("large"), gateway(streamOf(chunks, passTime)));
		expect((await response.text()).length).toBe(1_500 * 4_096);
		expect(files.size).toBe(0);
		expect(warnings[0]).toContain("was not recorded: its answer has");
	});

	it.each([401, 402, 403, 408, 429, 500, 502, 503])("does not record status %d", async (status) => {
		const { files, recorder, warnings } = recorderOf({});
		const response = await recorder.answer(runOf("x"), gateway(json({}, { status })));
		expect(response.status).toBe(status);
		expect(files.size).toBe(0);
		expect(warnings).toEqual([`run("${LLAMA}") was not recorded: its status is ${status}`]);
		expect(await (await recorder.answer(runOf("x"), gateway(json(2)))).json()).toBe(2);
	});

	it("records no value that looks like a key, and none of the keys of the settings", async () => {
		const { files, recorder, warnings } = recorderOf({ secrets: ["correct-horse-battery\n"] });
		for (const secret of ["sk-proj-0123456789abcdefghij", "correct-horse-battery"]) {
			const refused = await recorder.answer(runOf({ prompt: `My key:\n${secret}` }), closed);
			expect(refused.status).toBe(400);
			expect(await refused.json()).toMatchObject({
				internalCode: 8001,
				description: expect.stringContaining("has a value that looks like a key"),
			});
			const answer = await recorder.answer(
				runOf({ prompt: secret.length }),
				gateway(json({ response: secret })),
			);
			expect(await answer.json()).toEqual({ response: secret });
			expect(warnings.pop()).toContain("its answer has a value that looks like a key");
		}
		expect(files.size).toBe(0);
	});

	it("finds a key in the parts of a stream, and none in the message about a missing recording", async () => {
		const { files, passTime, recorder, warnings } = recorderOf({});
		const parts = ["sk-proj-0123456789", "abcdefghijklm"].map(
			(response) => `data: ${JSON.stringify({ response })}\n\n`,
		);
		await (await recorder.answer(runOf("key"), gateway(streamOf(parts, passTime)))).text();
		const deltas = ["sk-proj-0123456789", "abcdefghijklm"].map(
			(text) => `event: delta\ndata: ${JSON.stringify({ delta: { text } })}\n\n`,
		);
		await (await recorder.answer(runOf("deltas"), gateway(streamOf(deltas, passTime)))).text();
		const indented = JSON.stringify({ content: "Key:\nsk-proj-0123456789abcdefghij" }, null, 2);
		await recorder.answer(
			runOf("indented"),
			gateway(new Response(indented, { headers: { "content-type": "application/json" } })),
		);
		expect(files.size).toBe(0);
		expect(warnings).toHaveLength(3);
		expect(warnings.pop()).toContain("its answer has a value that looks like a key");
		await recorder.answer(runOf({ prompt: "Hello" }), gateway(json(1)));
		const replaying = recorderOf({ mode: "replay" }, files);
		const response = await replaying.recorder.answer(
			runOf({ prompt: "sk-proj-0123456789abcdefghij" }),
			closed,
		);
		expect(response.status).toBe(400);
		expect(await response.text()).not.toContain("0123456789");
		expect(replaying.warnings).toEqual([]);
	});

	it("writes no credentials that a call has for other servers", async () => {
		const { files, recorder } = recorderOf({});
		const tool = {
			type: "mcp",
			server_url: "https://a.example",
			authorization: "abc",
			headers: { "X-Key": "def" },
		};
		await recorder.answer(runOf({ input: "x", tools: [tool] }), gateway(json(1)));
		expect(answersIn(files)[0].input).toEqual({
			input: "x",
			tools: [{ type: "mcp", server_url: "https://a.example" }],
		});
	});

	it("takes calls that differ only in the ids of tool calls for the same", async () => {
		const { recorder } = recorderOf({});
		const messages = (id: string) => [
			{ role: "assistant", tool_calls: [{ id, function: { name: "f", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: id, content: "1" },
		];
		await recorder.answer(runOf({ messages: messages("a") }), gateway(json(1)));
		expect(await (await recorder.answer(runOf({ messages: messages("b") }), closed)).json()).toBe(1);
	});

	it("keeps what calls at the same time record", async () => {
		const { files, recorder } = recorderOf({});
		const release: (() => void)[] = [];
		const slow = {
			...gateway(),
			forward: async () => {
				await new Promise<void>((done) => release.push(done));
				return json("slow");
			},
		};
		const first = recorder.answer(runOf("first"), slow);
		await recorder.answer(runOf("second"), gateway(json("second")));
		await expect.poll(() => release.length).toBe(1);
		release[0]?.();
		await Promise.all([first, recorder.answer(runOf("third"), gateway(json("third")))]);
		expect(answersIn(files).map(({ input }: { input: string }) => input)).toEqual([
			"first",
			"second",
			"third",
		]);
	});

	it("reads a file once until it changes, and parallel calls share a write", async () => {
		const { counts, files, recorder, store } = recorderOf({});
		const write = store.write;
		let isSlow = true;
		store.write = async (name, text) => {
			await new Promise<void>((done) => setTimeout(done, isSlow ? 20 : 0));
			return write(name, text);
		};
		const inputs = Array.from({ length: 50 }, (_, at) => `call ${at}`);
		await Promise.all(inputs.map((input) => recorder.answer(runOf(input), gateway(json(input)))));
		expect(answersIn(files)).toHaveLength(50);
		// The first write, and one for all that came while it ran.
		expect(counts.writes).toBeLessThanOrEqual(3);
		isSlow = false;
		counts.reads = 0;
		for (const input of inputs)
			expect(await (await recorder.answer(runOf(input), closed)).json()).toBe(input);
		expect(counts.reads).toBe(1);
		files.set(FILE, (files.get(FILE) ?? "").replace(/("json": ?)"call 7"/, '$1"changed"'));
		expect(await (await recorder.answer(runOf("call 7"), closed)).json()).toBe("changed");
		expect(counts.reads).toBe(2);
	});

	it("keeps what another session writes between its own writes", async () => {
		const { files, recorder, store } = recorderOf({});
		const other = recorderOf({}, files).recorder;
		const { write } = store;
		store.write = async (name, text) => {
			store.write = write;
			await write(name, text);
			await other.answer(runOf("theirs"), gateway(json("theirs")));
		};
		await recorder.answer(runOf("first"), gateway(json("first")));
		expect(await (await recorder.answer(runOf("theirs"), closed)).json()).toBe("theirs");
		// A stamp that does not change with the file.
		store.stamp = async () => "same second and size";
		await recorder.answer(runOf("second"), gateway(json("second")));
		await other.answer(runOf("theirs too"), gateway(json("theirs too")));
		await recorder.answer(runOf("third"), gateway(json("third")));
		const inputs = answersIn(files).map(({ input }: { input: string }) => input);
		expect(inputs.sort()).toEqual(["first", "second", "theirs", "theirs too", "third"]);
	});

	it("writes without a caller whose work was ended during its write", async () => {
		const { files, passTime, recorder, store } = recorderOf({});
		const write = store.write;
		await new Promise<void>((begun) => {
			store.write = () => {
				begun();
				return new Promise(() => {});
			};
			void recorder.answer(runOf("left"), gateway(json("left")));
		});
		expect(files.size).toBe(0);
		store.write = write;
		passTime(2_000);
		await recorder.answer(runOf("next"), gateway(json("next")));
		await recorder.answer(runOf("last"), gateway(json("last")));
		expect(answersIn(files).map(({ input }: { input: string }) => input)).toEqual(["last", "left", "next"]);
	});

	/** A file with a recording of each of these tests, and one outside of tests. */
	async function recordedTests(...tests: string[]): Promise<Map<string, string>> {
		const { files, recorder } = recorderOf({});
		for (const test of [undefined, ...tests]) {
			recorder.begin(FILE, test);
			await recorder.answer(runOf(`of ${test}`), gateway(json(1)));
		}
		return files;
	}

	it("names the recordings that no test has used, at the end of a file of tests", async () => {
		const files = await recordedTests("a", "b", "c", "c (2)", "gone", "skipped");
		const { recorder, warnings } = recorderOf({ mode: "replay" }, files);
		recorder.begin(FILE, "a");
		await recorder.answer(runOf("of a"), closed);
		await recorder.end(FILE, { passed: ["a", "b"], others: ["c", "skipped"] });
		const unused = ["b", "gone"].map((test) => `run("${LLAMA}") of the test "${test}"`).join(", ");
		expect(warnings).toEqual([
			`recordings/AI/app.json has 2 unused recordings: ${unused}. Run GANGLION_RECORDINGS=prune on your machine, and commit the file`,
		]);
		// A new run of the same session counts anew.
		warnings.length = 0;
		await recorder.end(FILE, { passed: ["a", "b", "c", "c (2)", "gone", "skipped"], others: [] });
		expect(warnings[0]).toMatch(/ has 7 unused recordings: .*, and 2 more\. /);
	});

	it("removes them in the mode prune, and says nothing if all are used", async () => {
		const files = await recordedTests("a", "b");
		const { recorder, warnings } = recorderOf({ mode: "prune" }, files);
		for (const test of [undefined, "a"]) {
			recorder.begin(FILE, test);
			await recorder.answer(runOf(`of ${test}`), closed);
		}
		await recorder.end(FILE, { passed: ["a", "b"], others: [] });
		expect(warnings).toEqual([
			`1 unused recording removed from recordings/AI/app.json: run("${LLAMA}") of the test "b"`,
		]);
		expect(answersIn(files).map(({ test }: { test?: string }) => test)).toEqual([undefined, "a"]);
		const again = recorderOf({ mode: "once" }, files);
		for (const test of [undefined, "a"]) {
			again.recorder.begin(FILE, test);
			await again.recorder.answer(runOf(`of ${test}`), closed);
		}
		await again.recorder.end(FILE, { passed: ["a"], others: [] });
		expect(again.warnings).toEqual([]);
	});

	it("removes a file in the mode prune with its last recording", async () => {
		const files = await recordedTests("a");
		const { recorder } = recorderOf({ mode: "prune" }, files);
		recorder.begin(FILE, "a");
		await recorder.end(FILE, { passed: ["a"], others: [] });
		expect([...files.keys()]).toEqual([]);
	});

	it("fails in the mode strict at the end of a file of tests, and changes no file", async () => {
		const files = await recordedTests("a", "b");
		const before = new Map(files);
		const { recorder, warnings } = recorderOf({ mode: "strict" }, files);
		for (const test of [undefined, "a"]) {
			recorder.begin(FILE, test);
			await recorder.answer(runOf(`of ${test}`), closed);
		}
		const end = recorder.end(FILE, { passed: ["a", "b"], others: [] });
		await expect(end).rejects.toThrow(
			/app\.json has 1 unused recording: .*"b"\. Run GANGLION_RECORDINGS=prune on your machine, and commit the file$/,
		);
		for (const test of [undefined, "a"]) {
			recorder.begin(FILE, test);
			await recorder.answer(runOf(`of ${test}`), closed);
		}
		recorder.begin(FILE, "a");
		expect((await recorder.answer(runOf("new"), closed)).status).toBe(404);
		await recorder.end(FILE, { passed: ["a"], others: ["b"] });
		expect(warnings).toHaveLength(1);
		expect(files).toEqual(before);
	});

	it("fails in the mode strict with the probable reason if a test has a new name", async () => {
		const files = await recordedTests("old name");
		const { recorder } = recorderOf({ mode: "strict" }, files);
		recorder.begin(FILE, "new name");
		expect((await recorder.answer(runOf("of old name"), closed)).status).toBe(404);
		await expect(recorder.end(FILE, { passed: [], others: ["new name"] })).rejects.toThrow(
			/has 1 unused recording: .*"old name"\. A call had no recording: its test may have a new name\. Record again on your machine$/,
		);
	});

	it("removes none of a file with a call that has no recording, because its test may have a new name", async () => {
		const files = await recordedTests("old name");
		const { recorder, warnings } = recorderOf({ mode: "prune" }, files);
		recorder.begin(FILE, "new name");
		expect((await recorder.answer(runOf("of old name"), closed)).status).toBe(404);
		warnings.length = 0;
		await recorder.end(FILE, { passed: [], others: ["new name"] });
		const [warning] = warnings;
		expect(warning).toMatch(
			/has 1 unused recording: .*\. Nothing was removed\. A call had no recording: its/,
		);
		expect(answersIn(files).map(({ test }: { test?: string }) => test)).toEqual([undefined, "old name"]);
	});

	it.each([
		["bytes", (text: string) => new Response(text, { headers: { "content-type": "audio/mpeg" } })],
		["a field in base64", (text: string) => json({ image: Buffer.from(text).toString("base64") })],
		[
			"base64url in a text",
			(text: string) =>
				json({ image: `data:a/b;base64,${Buffer.from(`??${text}`).toString("base64url")} x` }),
		],
		[
			"lines of base64",
			(text: string) =>
				json({
					file: (
						Buffer.from(`${"a".repeat(50)} ${text}`)
							.toString("base64")
							.match(/.{1,76}/g) ?? []
					).join("\r\n"),
				}),
		],
		[
			"JSON in base64",
			(text: string) =>
				json({ file: Buffer.from(JSON.stringify({ a: `Key:\n${text}` })).toString("base64") }),
		],
	])("finds a key in %s", async (_, responseWith) => {
		for (const secret of ["sk-proj-0123456789abcdefghij", "correct-horse-battery"]) {
			const { files, recorder, warnings } = recorderOf({ secrets: ["correct-horse-battery"] });
			await recorder.answer(runOf("x"), gateway(responseWith(`the key ${secret} of mine`)));
			expect(files.size).toBe(0);
			expect(warnings[0]).toContain("its answer has a value that looks like a key");
			await recorder.answer(runOf("y"), gateway(responseWith("nothing of the kind")));
			expect(files.size).toBe(1);
		}
	});

	it("warns once that the simulator answered", async () => {
		const { recorder, warnings } = recorderOf({});
		const simulated = () =>
			new Response("{}", {
				headers: { "content-type": "application/json", "x-ganglion-backend": "simulator" },
			});
		for (const input of ["a", "b"]) await recorder.answer(runOf(input), gateway(simulated()));
		expect(warnings).toEqual([
			`run("${LLAMA}") was recorded from the simulator, because no route names an engine for it`,
		]);
	});

	it("does not record an answer of more than 5 MB", async () => {
		const { files, recorder, warnings } = recorderOf({});
		const answer = await recorder.answer(runOf("x"), gateway(json("a".repeat(5_000_000))));
		expect((await answer.text()).length).toBe(5_000_002);
		expect(files.size).toBe(0);
		expect(warnings[0]).toContain("was not recorded: its answer has 50000");
	});

	it("forwards what is about the gateway, and in the mode replay no websocket", async () => {
		const { files, recorder } = recorderOf({ mode: "replay" });
		const catalogue = new Request("https://workers-binding.ai/ai-api/models/search");
		expect(await (await recorder.answer(catalogue, gateway(json([])))).json()).toEqual([]);
		const socket = new Request("https://workers-binding.ai/run", { headers: { upgrade: "websocket" } });
		expect(await (await recorder.answer(socket, closed)).json()).toMatchObject({
			internalCode: 7002,
			description: "Websockets are not recorded",
		});
		expect(files.size).toBe(0);
	});

	it("writes the same file for the same calls in any order, with one line for each short value", async () => {
		const texts = [];
		for (const inputs of [
			["a", "b"],
			["b", "a"],
		]) {
			const { files, recorder } = recorderOf({});
			for (const input of inputs) await recorder.answer(runOf(input), gateway(json(input)));
			texts.push(files.get(FILE));
		}
		expect(texts[0]).toBe(texts[1]);
		expect(texts[0]?.split("\n")).toContain('\t\t\t"input": "a",');
	});
});

describe("a call without a recording", () => {
	/** What a file with one recording tells about another call. */
	async function messageFor(
		recorded: { test?: string; input: unknown } | undefined,
		sent: { test?: string; input: unknown },
	) {
		const files = new Map<string, string>();
		if (recorded) {
			const { recorder } = recorderOf({}, files);
			if (recorded.test !== undefined) recorder.begin(FILE, recorded.test);
			await recorder.answer(runOf(recorded.input), gateway(json(1)));
		}
		const { recorder, warnings } = recorderOf({ mode: "replay" }, files);
		if (sent.test !== undefined) recorder.begin(FILE, sent.test);
		const response = await recorder.answer(runOf(sent.input), closed);
		expect(response.status).toBe(404);
		const { description, internalCode } = (await response.json()) as {
			description: string;
			internalCode: number;
		};
		expect(internalCode).toBe(7002);
		expect(description).toBe(
			`${warnings[0]}. Record it on your machine (GANGLION_RECORDINGS=once), and commit the file`,
		);
		return description.slice(0, description.indexOf(". Record it"));
	}
	const call = `No recording answers run("${LLAMA}")`;

	it("has an error that says that there are none", async () => {
		expect(await messageFor(undefined, { input: "x" })).toBe(
			`${call}: recordings/AI/app.json has no recordings`,
		);
		expect(await messageFor({ input: "x" }, { input: "y", test: "asks" })).toBe(
			`${call} of the test "asks": recordings/AI/app.json has no recordings of this test`,
		);
	});

	it("has an error that names the test with the call", async () => {
		expect(await messageFor({ input: "x", test: "one" }, { input: "x", test: "two" })).toBe(
			`${call} of the test "two": recordings/AI/app.json has this call only in the test "one"`,
		);
	});

	it.each<[unknown, unknown, string]>([
		[{ prompt: "a" }, { prompt: "b" }, 'prompt: recorded "a", sent "b"'],
		[{ prompt: "a" }, { prompt: "a", seed: 1 }, "seed: recorded nothing, sent 1"],
		[{ prompt: "a", seed: 1 }, { prompt: "a" }, "seed: recorded 1, sent nothing"],
		[
			{ messages: [{ role: "user", content: "a" }] },
			{ messages: [{ role: "user", content: "b" }] },
			'messages[0].content: recorded "a", sent "b"',
		],
		[
			{ prompt: `${"long ".repeat(40)}end` },
			{ prompt: `${"long ".repeat(40)}END` },
			'prompt: recorded … long long long long long long long long long long long end", sent … long long long long long long long long long long long END"',
		],
	])("has an error that names the first difference of %j and %j", async (recorded, sent, difference) => {
		const description = await messageFor({ input: recorded }, { input: sent });
		expect(description).toBe(
			`${call}: the nearest recording in recordings/AI/app.json differs at ${difference}`,
		);
	});
});

describe("a file of recordings", () => {
	it.each([
		["<<<<<<< ours", "recordings/AI/app.json is not a file of recordings"],
		...[
			"[null]",
			'[{"call":"run"}]',
			'[{"call":"run","test":1,"answers":[]}]',
			'[{"call":"run","answers":[{"status":200,"headers":{}}]}]',
			'[{"call":"run","answers":[{"status":200,"headers":{},"events":[1]}]}]',
		].map((recordings) => [
			`{"version":1,"recordings":${recordings}}`,
			"recordings/AI/app.json has an entry that is not a recording: restore the file",
		]),
		['{"version":2,"recordings":[]}', "recordings/AI/app.json has version 2 of the format"],
	])("that is %j is refused, and is not written", async (text, message) => {
		const files = new Map([[FILE, text]]);
		for (const mode of ["replay", "once"] as const) {
			const response = await recorderOf({ mode }, files).recorder.answer(runOf("x"), closed);
			expect(await response.json()).toMatchObject({ description: expect.stringContaining(message) });
		}
		const { recorder, warnings } = recorderOf({ mode: "record" }, files);
		await recorder.answer(runOf("x"), gateway(json(1)));
		expect(warnings[0]).toContain(message);
		const ended = { passed: ["a"], others: [] };
		await recorder.end(FILE, ended);
		expect(warnings[1]).toContain(message);
		await expect(recorderOf({ mode: "strict" }, files).recorder.end(FILE, ended)).rejects.toThrow(message);
		expect(files.get(FILE)).toBe(text);
	});
});
