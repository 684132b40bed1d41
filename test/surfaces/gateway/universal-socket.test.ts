import { describe, expect, it, vi } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import {
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	upstream,
	usage,
} from "../../gateway.ts";
import { closedGateway } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const MIB = 1024 * 1024;
type Frame = { type: string; metadata: Record<string, unknown>; response?: unknown };

async function connect(
	reply: () => Response,
	{
		headers,
		vars = ENGINE_VARS,
	}: { headers?: (token: string) => Record<string, string>; vars?: object } = {},
) {
	const fakeEngine = upstream(reply);
	const { app, account, createToken, services } = closedGateway({
		vars: { ...vars },
		fetch: fakeEngine.fetch,
	});
	const token = await createToken(["Workers AI Run"]);
	const response = await app.request(`http://gateway/v1/${account}/default`, {
		headers: {
			upgrade: "websocket",
			...(headers ?? ((text) => ({ "cf-aig-authorization": `Bearer ${text}` })))(token),
		},
	});
	const socket = response.webSocket;
	const frames: Frame[] = [];
	socket?.addEventListener("message", ({ data }) => void frames.push(JSON.parse(String(data))));
	socket?.accept();
	return {
		response,
		socket,
		token,
		frames,
		requests: fakeEngine.requests,
		services,
		send: (request: object, type = "universal.create") => socket?.send(JSON.stringify({ type, request })),
	};
}

const step = (query: object, eventId = "event-1") => ({
	eventId,
	provider: "workers-ai",
	endpoint: LLAMA,
	headers: { authorization: "Bearer x" },
	query,
});
const METADATA = { cacheStatus: "MISS", eventId: "event-1", step: "0" };

describe("the universal websocket", () => {
	it("answers a request with one frame", async () => {
		const { response, send, frames } = await connect(() => Response.json(completion("Hello")));
		expect(response.status).toBe(101);
		send(step({ prompt: "Hi" }));
		await expect
			.poll(() => frames)
			.toMatchObject([
				{
					type: "universal.created",
					metadata: { ...METADATA, contentType: "application/json" },
					response: { success: true, result: { response: "Hello" }, errors: [], messages: [] },
				},
			]);
	});

	it("answers a stream with a frame for each event, between created and done", async () => {
		const { send, frames } = await connect(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		send(step({ prompt: "Hi", stream: true }));
		await expect.poll(() => frames.at(-1)?.type).toBe("universal.done");
		const metadata = { ...METADATA, contentType: "text/event-stream" };
		expect(frames[0]).toMatchObject({ type: "universal.created", metadata });
		expect(frames[0]).not.toHaveProperty("response");
		const streamed = frames.slice(1, -1);
		expect(new Set(streamed.map(({ type }) => type))).toEqual(new Set(["universal.stream"]));
		for (const frame of streamed) expect(frame.metadata).toEqual({ eventId: "event-1" });
		const texts = streamed.map(({ response }) => (response as { response?: string }).response ?? "");
		expect(texts.join("")).toBe("Hello");
		expect(frames.at(-1)).toMatchObject({ metadata });
		expect(frames.at(-1)).not.toHaveProperty("response");
	});

	it("runs the requests of a socket in parallel, and relates the frames by their event id", async () => {
		const live = liveEvents();
		let calls = 0;
		const { send, frames } = await connect(() =>
			calls++ === 0 ? live.response : Response.json(completion("Hello")),
		);
		send(step({ prompt: "slow", stream: true }, "slow"));
		await expect.poll(() => calls).toBe(1);
		send(step({ prompt: "fast" }, "fast"));
		await expect.poll(() => frames.map(({ metadata }) => metadata.eventId)).toContain("fast");
		for (const text of [delta("Hi"), finish(), usage(), DONE]) live.send(text);
		live.end();
		await expect
			.poll(() => frames.at(-1))
			.toMatchObject({ type: "universal.done", metadata: { eventId: "slow" } });
	});

	it.each(["a\nb", "é 1", "", "x".repeat(300)])(
		"repeats the event id %j, which no header can have",
		async (eventId) => {
			const { send, frames } = await connect(() => Response.json(completion("Hello")));
			send(step({ prompt: "Hi" }, eventId));
			await expect.poll(() => frames).toHaveLength(1);
			expect(frames).toMatchObject([{ type: "universal.created", metadata: { ...METADATA, eventId } }]);
		},
	);

	it("repeats the event id of the frame, also if the step's log has another one", async () => {
		const { send, frames } = await connect(() => Response.json(completion("Hello")));
		send({ ...step({ prompt: "Hi" }), headers: { "cf-aig-event-id": "of-the-log" } });
		await expect.poll(() => frames).toHaveLength(1);
		expect(frames[0]?.metadata.eventId).toBe("event-1");
	});

	it("counts the bytes of large frames until they are answered, and refuses those without room", async () => {
		const engine = liveEvents();
		const { send, frames, requests } = await connect(() => engine.response);
		const { limit, used } = bufferedBytes.report();
		const large = step({ prompt: "a".repeat(100_000), max_tokens: 1, stream: true });
		send(large);
		await expect.poll(() => requests.length).toBe(1);
		expect(bufferedBytes.report().used - used).toBeGreaterThan(100_000);
		bufferedBytes.limitTo(bufferedBytes.report().used + 50_000);
		try {
			send(large);
			await expect
				.poll(() => frames.at(-1))
				.toMatchObject({ type: "universal.error", metadata: { statusCode: 429 } });
		} finally {
			bufferedBytes.limitTo(limit);
		}
		for (const event of [delta("Hi"), finish(), usage(), DONE]) engine.send(event);
		engine.end();
		await expect.poll(() => bufferedBytes.report().used).toBeLessThanOrEqual(used);
	});

	it("reports failures of a step and of a frame, and stays open", async () => {
		const { send, socket, frames } = await connect(() => Response.json(completion("Hello")));
		send(step({ prompt: 7 }));
		await expect
			.poll(() => frames.at(-1))
			.toMatchObject({
				type: "universal.error",
				metadata: { eventId: "event-1", statusCode: 400 },
				response: { success: false, errors: [{ code: 5006 }] },
			});
		socket?.send("{");
		await expect
			.poll(() => frames[1])
			.toMatchObject({
				type: "universal.error",
				metadata: { statusCode: 400 },
				response: { name: "AiGatewayError", internalCode: 5006 },
			});
		send({}, "universal.other");
		send({ eventId: "event-2", provider: "openai" });
		await expect.poll(() => frames.length).toBe(4);
		for (const frame of frames) expect(frame.type).toBe("universal.error");
		send(step({ prompt: "Hi" }));
		await expect.poll(() => frames[4]?.type).toBe("universal.created");
	});

	it("is closed with 1013 after 100 frames that the gateway has refused", async () => {
		const { socket, frames } = await connect(() => Response.json(completion("Hello")));
		let closed: CloseEvent | undefined;
		socket?.addEventListener("close", (event) => {
			closed = event;
		});
		// One after the other, because 128 that wait close it too. Meanwhile 10 more are allowed for each second.
		for (let number = 1; number <= 1_000 && !closed; number++) {
			socket?.send(number % 2 ? "" : new Uint8Array());
			await vi.waitFor(() => expect(closed ?? frames[number - 1]).toBeDefined(), { interval: 1 });
		}
		expect(closed).toMatchObject({ code: 1013, reason: "too many frames were refused" });
		expect(frames.length).toBeGreaterThanOrEqual(100);
	});

	it.each([
		["an engine", 429, step({ prompt: "Hi" })],
		["an engine", 503, step({ prompt: "Hi" })],
		["an engine", 400, step({ prompt: "Hi" })],
		[
			"a provider",
			429,
			{
				...step({ model: "gpt-5.6-sol", messages: [{ role: "user", content: "Hi" }] }),
				...{ provider: "openai", endpoint: "chat/completions" },
				headers: { authorization: "Bearer sk-of-the-caller-0123456789" },
			},
		],
	])("stays open although %s answers more than 100 frames with %i", async (_, status, request) => {
		let isFailing = true;
		const { frames, send, socket } = await connect(() =>
			isFailing
				? Response.json({ error: { message: "busy" } }, { status })
				: Response.json(completion("Hello")),
		);
		let closed: CloseEvent | undefined;
		socket?.addEventListener("close", (event) => {
			closed = event;
		});
		for (let sent = 0; sent < 150; sent += 30) {
			for (let number = 0; number < 30; number++) send(request);
			await expect.poll(() => closed?.reason ?? frames.length, { timeout: 20_000 }).toBe(sent + 30);
		}
		expect(new Set(frames.map(({ type }) => type))).toEqual(new Set(["universal.error"]));
		isFailing = false;
		send(request);
		await expect.poll(() => frames[150]?.type).toBe("universal.created");
	});

	it("is closed with 1013 if more than 128 requests and refusals wait", async () => {
		const { send, socket, services } = await connect(() => Response.json(completion("Hello")));
		const closed = new Promise<CloseEvent>((resolve) => socket?.addEventListener("close", resolve));
		vi.spyOn(services.ledgers, "of").mockReturnValue({
			verifyRecently: () => new Promise(() => {}),
		} as never);
		for (let number = 0; number <= 128; number++) send(step({ prompt: "Hi" }));
		expect(await closed).toMatchObject({ code: 1013, reason: "more than 128 frames wait" });
	});

	it.each([
		["An event of the answer", "text/event-stream", `data: ${"a".repeat(9 * MIB)}`],
		["The answer", "application/octet-stream", new Uint8Array(25 * MIB)],
	])("reports what is too large for a frame, and stays open: %s", async (what, type, body) => {
		const { send, frames } = await connect(() => new Response(body, { headers: { "content-type": type } }));
		const query = { model: "gpt-5.6-sol", messages: [{ role: "user", content: "Hi" }], stream: true };
		const request = { ...step(query), provider: "openai", endpoint: "chat/completions" };
		for (const number of [1, 2]) {
			send({ ...request, headers: { authorization: "Bearer sk-of-the-caller-0123456789" } });
			const failures = () => frames.filter((frame) => frame.type === "universal.error");
			await expect.poll(() => failures().length, { timeout: 20_000 }).toBe(number);
			expect(failures().at(-1)?.metadata).toMatchObject({ eventId: "event-1", statusCode: 413 });
			expect(JSON.stringify(failures().at(-1)?.response)).toContain(`${what} is too large for a websocket`);
		}
	});

	it("cancels its requests when the client closes it", async () => {
		const live = liveEvents();
		const { send, socket, frames } = await connect(() => live.response);
		send(step({ prompt: "Hi", stream: true }));
		live.send(delta("Hi"));
		await expect.poll(() => frames.length).toBeGreaterThan(1);
		socket?.close(1000);
		await live.cancelled;
	});

	it("gives the bytes of an answer that it reads back when it closes", async () => {
		const started = () =>
			new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(200_000)) });
		const { used } = bufferedBytes.report();
		const headers = { "content-type": "application/json" };
		const { send, socket } = await connect(() => new Response(started(), { headers }));
		send({ ...step({}), provider: "openai", endpoint: "files" });
		await expect.poll(() => bufferedBytes.report().used - used).toBeGreaterThan(100_000);
		socket?.close();
		await expect.poll(() => bufferedBytes.report().used - used).toBeLessThan(100_000);
	});

	it("takes the token from the subprotocol of a browser, which it selects", async () => {
		const subprotocol = await connect(() => Response.json(completion("Hello")), {
			headers: (token) => ({ "sec-websocket-protocol": `cf-aig-authorization.${token}` }),
		});
		expect(subprotocol.response.status).toBe(101);
		expect(subprotocol.response.headers.get("sec-websocket-protocol")).toBe(
			`cf-aig-authorization.${subprotocol.token}`,
		);
		const named = await connect(() => Response.json(completion("Hello")), {
			headers: (token) => ({ "sec-websocket-protocol": `cf-aig-authorization.${token}, app` }),
		});
		expect(named.response.headers.get("sec-websocket-protocol")).toBe("app");
	});

	it("is refused without a valid token, before it opens", async () => {
		for (const headers of [() => ({}), () => ({ "sec-websocket-protocol": "cf-aig-authorization.wrong" })]) {
			const { response } = await connect(() => Response.json({}), {
				headers: headers as () => Record<string, string>,
			});
			expect(response.status).toBe(401);
			expect(response.webSocket).toBeNull();
			expect(await response.json()).toMatchObject({ internalCode: 2009 });
		}
	});
});
