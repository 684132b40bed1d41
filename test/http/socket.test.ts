/** The websocket models at every entry point, inside workerd: real sockets in front of the simulator. */
import { exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { SocketFrames } from "../../src/dialects/dialect.ts";
import { socketResponse } from "../../src/http/socket.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { silence } from "../backends/simulator/live/audio.ts";
import { BASE, CALLER, ENGINE_VARS, testGateway, testServices } from "../gateway.ts";

const FLUX = "@cf/deepgram/flux";
const NOVA = "@cf/deepgram/nova-3";
const PCM = { encoding: "linear16", sample_rate: "16000" };

/** The request of the runtime's `Ai` class for `{websocket: true}`. */
function upgrade(model: string, inputs: object, path = "/run", options: object = {}): Request {
	const query = new URLSearchParams({
		version: "3",
		body: JSON.stringify({ inputs, options: { websocket: true, ...options } }),
	});
	return new Request(`https://workers-binding.ai${path}?${query}`, {
		headers: {
			upgrade: "websocket",
			"cf-consn-sdk-version": "2.0.0",
			"cf-consn-model-id": model,
		},
	});
}

const wire = (options: Parameters<typeof testServices>[0] = {}) => {
	const app = wireOf(testServices(options));
	return async (request: Request): Promise<Response> => app.fetch(request, { caller: CALLER });
};

interface Client {
	socket: WebSocket;
	/** The next frame. */
	next(): Promise<Record<string, unknown>>;
	/** All frames until the close, and the close. */
	rest(): Promise<{ frames: Record<string, unknown>[]; code: number; reason: string }>;
}

function accepted(response: Response): Client {
	const socket = response.webSocket;
	if (!socket) throw new Error(`no websocket: ${response.status}`);
	const frames: Record<string, unknown>[] = [];
	let wake = (): void => {};
	let closed: CloseEvent | undefined;
	socket.addEventListener("message", ({ data }) => {
		frames.push(JSON.parse(String(data)));
		wake();
	});
	socket.addEventListener("close", (event) => {
		closed = event;
		wake();
	});
	socket.accept();
	const something = (): Promise<void> =>
		new Promise((resolve) => {
			wake = resolve;
		});
	return {
		socket,
		async next() {
			while (frames.length === 0) {
				if (closed) throw new Error(`closed with ${closed.code}`);
				await something();
			}
			return frames.shift() ?? {};
		},
		async rest() {
			while (!closed) await something();
			return { frames: frames.splice(0), code: closed.code, reason: closed.reason };
		},
	};
}

/** A session that the test controls, on a real socket. */
function conversation(frames: SocketFrames, requireFrame = async (): Promise<void> => {}): Client {
	return accepted(socketResponse(frames, "request", { account: "acme", requireFrame, now: Date.now }));
}

/** As {@link conversation}, with the number of frames that the gateway has received. */
function countedConversation(...session: Parameters<typeof conversation>): Client & { received(): number } {
	let received = 0;
	const counting = new Proxy(WebSocketPair, {
		construct(Pair) {
			const pair = new Pair();
			pair[1].addEventListener("message", () => {
				received++;
			});
			return pair;
		},
	});
	vi.stubGlobal("WebSocketPair", counting);
	try {
		return { ...conversation(...session), received: () => received };
	} finally {
		vi.unstubAllGlobals();
	}
}

const CLOSE = '{"type":"CloseStream"}';

describe("a websocket on the binding's wire", () => {
	it("reports the turns of a conversation", async () => {
		const response = await wire()(upgrade(FLUX, { ...PCM, eager_eot_threshold: "0.4" }));
		expect(response.status).toBe(101);
		expect(response.headers.get("x-ganglion-backend")).toBe("simulator");
		const id = response.headers.get("cf-ai-req-id");
		const { socket, next, rest } = accepted(response);
		expect(await next()).toEqual({ type: "Connected", request_id: id, sequence_id: 0 });
		const sound = silence(3.5);
		// Chunks of 100 ms, as from a microphone.
		for (let at = 0; at < sound.length; at += 3200) socket.send(sound.subarray(at, at + 3200));
		socket.send(CLOSE);
		const { frames, code } = await rest();
		expect(code).toBe(1000);
		expect(frames.map(({ sequence_id }) => sequence_id)).toEqual(frames.map((_, i) => i + 1));
		expect(
			frames.filter(({ event }) => event !== "Update").map(({ event, transcript }) => [event, transcript]),
		).toEqual([
			["StartOfTurn", "This"],
			["EagerEndOfTurn", "This is simulated speech,"],
			["TurnResumed", "This is simulated speech, and"],
			["EagerEndOfTurn", "This is simulated speech, and no model listened."],
			["EndOfTurn", "This is simulated speech, and no model listened."],
		]);
	});

	it("sends Nova's results and ends with its metadata", async () => {
		const inputs = {
			...PCM,
			interim_results: "true",
			vad_events: "true",
			endpointing: "300",
			utterance_end_ms: "1000",
		};
		const { socket, rest } = accepted(await wire()(upgrade(NOVA, inputs)));
		socket.send(silence(3.7));
		socket.send(CLOSE);
		const { frames, code } = await rest();
		expect(code).toBe(1000);
		expect(
			frames.map(({ type, is_final, speech_final }) =>
				[type, is_final, speech_final].filter((x) => x !== undefined),
			),
		).toEqual([
			["SpeechStarted"],
			["Results", false, false],
			["SpeechStarted"],
			["Results", false, false],
			["Results", true, true],
			["UtteranceEnd"],
			["Results", true, false],
			["Metadata"],
		]);
		expect(frames.at(-1)).toMatchObject({ duration: 3.7, channels: 1 });
	});

	it("ends at the reserved amount of audio if a budget limits it, and continues without a budget", async () => {
		const part = silence(20, 8_000);
		const send = async (vars: object) => {
			const { socket, rest } = accepted(
				await wire({ vars: { DEFAULT_BACKEND: "simulator", ...vars } })(
					upgrade(NOVA, { ...PCM, sample_rate: "8000" }),
				),
			);
			for (let i = 0; i < 16; i++) socket.send(part);
			socket.send(CLOSE);
			return rest();
		};
		const limited = await send({ LIMITS: { daily_neurons: 1_000_000 } });
		expect([limited.code, limited.reason]).toEqual([
			1008,
			"3036: This session has received the 300 seconds of audio that were reserved of a daily budget of neurons",
		]);
		expect(await send({})).toMatchObject({ code: 1000 });
	});

	it("answers while audio is still being sent", async () => {
		const { socket, next } = accepted(await wire()(upgrade(FLUX, PCM)));
		await next();
		socket.send(silence(0.5));
		expect(await next()).toMatchObject({ event: "Update" });
		expect(await next()).toMatchObject({ event: "StartOfTurn" });
		socket.send('{"type":"ForceEndTurn"}');
		expect(await next()).toMatchObject({ event: "EndOfTurn", audio_window_end: 0.5 });
		socket.close(1000, "done");
	});

	it("is refused to a call that names a gateway, whose rules it would avoid", async () => {
		const response = await wire()(upgrade(FLUX, PCM, "/ai-gateway/run", { gateway: { id: "prod" } }));
		expect([response.status, await response.text()]).toEqual([
			400,
			expect.stringContaining("runs in no gateway"),
		]);
	});

	it("is also available at the path of gateways", async () => {
		const { socket, next } = accepted(await wire()(upgrade(FLUX, PCM, "/ai-gateway/run")));
		expect(await next()).toMatchObject({ type: "Connected" });
		socket.close();
	});

	it.each([
		[
			"inputs that are missing",
			upgrade(FLUX, {}),
			5006,
			"required properties at '/' are 'encoding,sample_rate'",
		],
		[
			"inputs that are wrong",
			upgrade(FLUX, { ...PCM, eot_threshold: "2" }),
			8001,
			"eot_threshold must be from",
		],
		["what the engine cannot hear", upgrade(NOVA, { ...PCM, encoding: "opus" }), 8001, "raw samples"],
		["sound in a container", upgrade(NOVA, {}), 8001, "raw samples"],
		["a model without one", upgrade("@cf/openai/whisper", {}), 8001, "cannot be used over a websocket"],
		["a model that is not there", upgrade("@cf/deepgram/none", {}), 5007, "No such model"],
	])("refuses %s before it opens", async (_, request, internalCode, description) => {
		const response = await wire()(request);
		expect(response.webSocket).toBeNull();
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(await response.json()).toMatchObject({
			internalCode,
			description: expect.stringContaining(description),
		});
	});

	it("refuses an engine that has no such task", async () => {
		const response = await wire({ vars: ENGINE_VARS })(upgrade(FLUX, PCM));
		expect(await response.json()).toMatchObject({
			internalCode: 5007,
			description: expect.stringContaining("has no live-transcription"),
		});
	});

	it.each([
		["no upgrade", new Request(upgrade(FLUX, PCM), { headers: { "cf-consn-model-id": FLUX } }), 3003],
		["no model", new Request(upgrade(FLUX, PCM), { headers: { upgrade: "websocket" } }), 3003],
		["an old version", new Request("https://workers-binding.ai/run", upgrade(FLUX, PCM)), 5019],
		["no inputs", new Request("https://workers-binding.ai/run?version=3", upgrade(FLUX, PCM)), 5006],
		["deep inputs", upgrade(FLUX, JSON.parse(`${'{"a":'.repeat(200)}1${"}".repeat(200)}`)), 5006],
	])("refuses %s", async (_, request, internalCode) => {
		const response = await wire()(request);
		expect(response.status).toBeGreaterThanOrEqual(400);
		expect(await response.json()).toMatchObject({ internalCode });
	});

	it("does not change the plain run of Flux", async () => {
		const response = await wire()(
			new Request("https://workers-binding.ai/run?version=3", {
				method: "POST",
				headers: { "content-type": "application/json", "cf-consn-model-id": FLUX },
				body: JSON.stringify({ inputs: PCM, options: {} }),
			}),
		);
		expect(await response.json()).toMatchObject({ internalCode: 3003 });
	});
});

describe("hostile frames", () => {
	const open = async (inputs: object = PCM, model = FLUX) => accepted(await wire()(upgrade(model, inputs)));

	it.each(["{", "", '{"type":"CloseStream"', '{"type":"Configure"}', "\u0000"])(
		"closes on the text %j",
		async (text) => {
			const { socket, rest } = await open();
			socket.send(text);
			const { frames, code, reason } = await rest();
			expect(code).toBe(1008);
			expect(reason).toMatch(/^8001: Invalid input: a text frame must be/);
			expect(new TextEncoder().encode(reason).length).toBeLessThanOrEqual(123);
			expect(frames.at(-1)).toMatchObject({ type: "Error", code: "BAD_REQUEST" });
		},
	);

	it("closes after a frame over the size limit, and accepts one at the limit", async () => {
		const { socket, rest } = await open();
		socket.send(new Uint8Array(1_048_576));
		socket.send(new Uint8Array(1_048_578));
		const { frames, code } = await rest();
		expect(code).toBe(1009);
		expect(frames.length).toBeLessThan(150);
	});

	it("reports nothing for empty frames, single bytes and bytes that are not audio", async () => {
		const { socket, rest } = await open();
		socket.send(new Uint8Array());
		for (const byte of new TextEncoder().encode("RIFF....WAVEfmt ")) socket.send(new Uint8Array([byte]));
		socket.send(CLOSE);
		socket.send("after the end");
		const { frames, code } = await rest();
		expect(code).toBe(1000);
		expect(frames).toEqual([expect.objectContaining({ type: "Connected" })]);
	});

	it("takes noise as any audio, and reports its duration", async () => {
		const { socket, rest } = await open();
		for (let i = 0; i < 4; i++) {
			const noise = new Uint8Array(64_000);
			crypto.getRandomValues(noise.subarray(0, 32_000));
			crypto.getRandomValues(noise.subarray(32_000));
			socket.send(noise);
		}
		socket.send(CLOSE);
		const { frames } = await rest();
		expect(frames.at(-1)).toMatchObject({ transcript: "", audio_window_end: 8 });
	});
});

describe("a session on a socket", () => {
	/** Accepts frames when the test releases them, and records how the session ended. */
	function blockedSession() {
		const ended = Promise.withResolvers<string>();
		let emit!: (frame: string) => void;
		let fail!: (error: unknown) => void;
		const readable = new ReadableStream<string>({
			start(controller) {
				emit = (frame) => controller.enqueue(frame);
				fail = (error) => controller.error(error);
			},
			cancel: () => ended.resolve("cancelled"),
		});
		const writable = new WritableStream<string | Uint8Array>({ write: () => new Promise(() => {}) });
		return { frames: { readable, writable }, ended: ended.promise, emit, fail };
	}

	it("ends when the caller closes", async () => {
		const { frames, ended, emit } = blockedSession();
		const { socket, next, rest } = conversation(frames);
		emit('{"n":1}');
		expect(await next()).toEqual({ n: 1 });
		socket.close(1000, "enough");
		expect(await ended).toBe("cancelled");
		expect((await rest()).code).toBe(1000);
	});

	it("ends if the caller may not use it any more, and sends no frame after that", async () => {
		const { frames, ended, emit } = blockedSession();
		let isRevoked = false;
		const { next, rest } = conversation(frames, async () => {
			if (isRevoked) throw new AiError("authentication");
		});
		emit('{"n":1}');
		expect(await next()).toEqual({ n: 1 });
		isRevoked = true;
		emit('{"n":2}');
		expect(await rest()).toEqual({
			frames: [],
			code: 1008,
			reason:
				"10000: Authentication error: no valid token. Send one of the account as bearer token or API key (docs/accounts.md#tokens)",
		});
		expect(await ended).toBe("cancelled");
	});

	it("goes on with its answer while the caller cannot be verified for a moment", async () => {
		const { frames, emit } = blockedSession();
		const { next, socket } = conversation(frames, async () => {
			throw new AiError("ledgerUnavailable");
		});
		emit('{"n":1}');
		expect(await next()).toEqual({ n: 1 });
		socket.close(1000);
	});

	it.each([
		[1011, "ledgerUnavailable"],
		[1013, "outOfCapacity"],
	] as const)(
		"ends with %i if the verification of a frame of the caller fails with %s",
		async (code, key) => {
			const { frames, ended } = blockedSession();
			const { socket, rest } = conversation(frames, async () => {
				throw new AiError(key);
			});
			socket.send(new Uint8Array(2));
			socket.send(new Uint8Array(2));
			expect((await rest()).code).toBe(code);
			expect(await ended).toBe("cancelled");
		},
	);

	it("ends when too many bytes are pending", async () => {
		const { frames, ended } = blockedSession();
		const { socket, rest } = conversation(frames);
		for (let sent = 0; sent <= 8_388_608; sent += 1_048_576) socket.send(new Uint8Array(1_048_576));
		expect(await rest()).toMatchObject({
			code: 1008,
			reason: expect.stringContaining("wait to be processed"),
		});
		expect(await ended).toBe("cancelled");
	});

	it("ends when too many small frames are pending", async () => {
		const { frames, ended } = blockedSession();
		const { socket, rest } = conversation(frames);
		for (let sent = 0; sent < 20_000; sent++) socket.send(new Uint8Array(1));
		expect(await rest()).toMatchObject({
			code: 1008,
			reason: expect.stringContaining("wait to be processed"),
		});
		expect(await ended).toBe("cancelled");
	});

	it("gets small pieces of audio together, in the order of all frames, for one verification", async () => {
		const written: string[] = [];
		const gate = Promise.withResolvers<void>();
		let verifications = 0;
		const writable = new WritableStream<string | Uint8Array>({
			async write(frame) {
				written.push(typeof frame === "string" ? frame : `${frame.length} bytes, the last ${frame.at(-1)}`);
				await gate.promise;
			},
		});
		const { received, socket } = countedConversation(
			{ readable: new ReadableStream(), writable },
			async () => {
				verifications++;
			},
		);
		socket.send(new Uint8Array([1]));
		await vi.waitFor(() => expect(written).toHaveLength(1));
		for (let sent = 0; sent < 10_000; sent++) socket.send(new Uint8Array([sent % 251]));
		socket.send("text");
		socket.send(new Uint8Array(0));
		for (let sent = 0; sent < 3; sent++) socket.send(new Uint8Array(30_000).fill(sent));
		await vi.waitFor(() => expect(received()).toBe(10_006), 20_000);
		gate.resolve();
		await vi.waitFor(() => expect(written.at(-1)).toBe("30000 bytes, the last 2"));
		expect(written).toEqual([
			"1 bytes, the last 1",
			`10000 bytes, the last ${9_999 % 251}`,
			"text",
			"60000 bytes, the last 1",
			"30000 bytes, the last 2",
		]);
		expect(verifications).toBe(2);
		socket.close();
	});

	it("receives nothing after it is closed", async () => {
		const { frames, ended } = blockedSession();
		let verifications = 0;
		const { socket, rest } = conversation(frames, async () => {
			verifications++;
		});
		socket.send(new Uint8Array(1_048_577));
		for (let sent = 0; sent < 20_000; sent++) socket.send(new Uint8Array(1));
		expect(await rest()).toMatchObject({ frames: [], code: 1009 });
		expect(await ended).toBe("cancelled");
		expect(verifications).toBe(0);
	});

	it("closes after a failure with a code by its cause, and discloses no secrets", async () => {
		const ours = blockedSession();
		const first = conversation(ours.frames);
		ours.fail(new TypeError("sk-secret"));
		expect(await first.rest()).toEqual({ frames: [], code: 1011, reason: "5001: Model execution failed" });
		const theirs = blockedSession();
		const second = conversation(theirs.frames);
		theirs.fail(new AiError("invalidInput", `é${"é".repeat(200)}`));
		const { code, reason } = await second.rest();
		expect(code).toBe(1008);
		expect(reason).toBe(`8001: ${"é".repeat(58)}`);
	});
});

describe("the other entry points", () => {
	it("have the websocket on REST's run path, with the inputs in the query", async () => {
		const { app } = testGateway();
		const query = new URLSearchParams([...Object.entries(PCM), ["keyterm", "a"], ["keyterm", "b"]]);
		const response = await app.request(`${BASE}/run/${FLUX}?${query}`, { headers: { upgrade: "websocket" } });
		const { socket, next } = accepted(response);
		expect(await next()).toMatchObject({
			type: "Connected",
			request_id: response.headers.get("cf-ai-req-id"),
		});
		socket.send(silence(0.5));
		expect(await next()).toMatchObject({ event: "Update" });
		expect(await next()).toMatchObject({ event: "StartOfTurn" });
		socket.close();
		const refused = await app.request(`${BASE}/run/${FLUX}`, { headers: { upgrade: "websocket" } });
		expect(await refused.json()).toMatchObject({ success: false, errors: [{ code: 5006 }] });
		expect((await app.request(`${BASE}/run/${FLUX}?${query}`)).status).toBe(405);
	});

	it("have it on the entrypoint's fetch, and refuse it over RPC", async () => {
		const { AI } = exports as unknown as {
			AI(options: object): {
				run(model: string, inputs: object, options: object): Promise<unknown>;
				fetch(request: Request): Promise<Response>;
			};
		};
		const ai = AI({ props: { account: "team-a" } });
		const refused = await ai.run(FLUX, PCM, { websocket: true }).catch((thrown: unknown) => thrown);
		expect(refused).toMatchObject({
			message:
				"8001: Invalid input: a websocket does not cross RPC; use the runtime's own AI binding, or fetch of this one",
		});
		const { socket, rest } = accepted(await ai.fetch(upgrade(FLUX, PCM)));
		socket.send(silence(0.5));
		socket.send(CLOSE);
		const { frames, code } = await rest();
		expect(code).toBe(1000);
		expect(frames.map(({ event }) => event)).toEqual([undefined, "Update", "StartOfTurn", "Update"]);
	});
});
