/** The websocket of OpenAI's Responses API. */
import { describe, expect, it } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import {
	BASE,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	NOW,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";

const MODEL = "gpt-5.6-sol";
/** A machine that is busy delays the first use of a module. */
const PATIENT = { timeout: 30_000 };
type Frame = Record<string, unknown> & { type: string; response?: { id: string } };

const completed = () => events(delta("Hel"), delta("lo"), finish(), usage(), DONE);

type Gateway = ReturnType<typeof testGateway>;

function world(engine: (request: Request) => Response = completed) {
	const { fetch, requests } = upstream(engine);
	return { gateway: testGateway({ vars: ENGINE_VARS, fetch }), requests };
}

async function connect(engine = completed) {
	const { gateway, requests } = world(engine);
	return { ...(await open(gateway, requests)), ...gateway };
}

async function open(gateway: Gateway, requests: readonly Request[]) {
	const response = await gateway.app.request(`${BASE}/v1/responses`, { headers: { upgrade: "websocket" } });
	expect(response.status).toBe(101);
	const socket = response.webSocket as WebSocket;
	socket.accept();
	const frames: Frame[] = [];
	socket.addEventListener("message", ({ data }) => {
		frames.push(JSON.parse(String(data)));
	});
	const send = (frame: object): void => socket.send(JSON.stringify(frame));
	const ends = () => frames.filter(({ type }) => ["response.completed", "error"].includes(type));
	/** Resolves with the end of the frame with this number. */
	const end = async (number: number): Promise<Frame> => {
		await expect.poll(() => ends().length, PATIENT).toBeGreaterThanOrEqual(number);
		return ends()[number - 1] as Frame;
	};
	const messages = async (index: number): Promise<unknown> =>
		(await requests[index]?.clone().json<{ messages: unknown[] }>())?.messages;
	return { socket, frames, send, end, messages, requests };
}

describe("the websocket of /responses", () => {
	it("answers a frame with its events, and continues a stored response", async () => {
		const { end, frames, get, messages, send } = await connect();
		send({ type: "response.create", model: MODEL, input: "One" });
		const first = await end(1);
		expect(frames.map(({ type }) => type)).toEqual(
			expect.arrayContaining(["response.created", "response.output_text.delta", "response.completed"]),
		);
		expect((await get(`/v1/responses/${first.response?.id}`)).status).toBe(200);
		send({ type: "response.create", model: MODEL, input: "Two", previous_response_id: first.response?.id });
		await end(2);
		expect(await messages(1)).toEqual([
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "Two" },
		]);
	});

	it("continues in the memory what continued a stored response, and prepares only what can run", async () => {
		const { end, messages, send } = await connect();
		const frame = { type: "response.create", model: MODEL };
		send({ ...frame, input: "Stored" });
		const stored = (await end(1)).response?.id;
		send({ ...frame, input: "Warm", generate: false, previous_response_id: stored });
		const warm = (await end(2)).response?.id;
		send({ ...frame, input: "One", store: false, previous_response_id: warm });
		const first = (await end(3)).response?.id;
		send({ ...frame, input: "Two", store: false, previous_response_id: first });
		await end(4);
		expect(await messages(2)).toEqual([
			{ role: "user", content: "Stored" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "Warm" },
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "Two" },
		]);
		send({ ...frame, input: "Warm", generate: false, previous_response_id: "resp_unknown" });
		expect(await end(5)).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
	});

	it("continues an answer of the memory that was cut by its limit", async () => {
		const { frames, messages, send } = await connect(() =>
			events(delta("Hel"), delta("lo"), finish("length"), usage(), DONE),
		);
		send({ type: "response.create", model: MODEL, input: "One", store: false });
		await expect.poll(() => frames.at(-1)?.type, PATIENT).toBe("response.incomplete");
		const cut = frames.at(-1)?.response?.id;
		send({ type: "response.create", model: MODEL, input: "Two", store: false, previous_response_id: cut });
		await expect
			.poll(() => frames.filter(({ type }) => type === "response.incomplete").length, PATIENT)
			.toBe(2);
		expect(await messages(1)).toEqual([
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "Two" },
		]);
	});

	it("remembers responses that are not stored, and those that were prepared", async () => {
		const { end, get, messages, send } = await connect();
		send({ type: "response.create", model: MODEL, input: "Warm", generate: false, store: false });
		const warm = await end(1);
		expect(warm.response).toMatchObject({ status: "completed", output: [] });
		send({
			type: "response.create",
			model: MODEL,
			input: "One",
			store: false,
			previous_response_id: warm.response?.id,
		});
		const first = await end(2);
		expect((await get(`/v1/responses/${first.response?.id}`)).status).not.toBe(200);
		send({
			type: "response.create",
			model: MODEL,
			input: "Two",
			store: false,
			previous_response_id: first.response?.id,
		});
		await end(3);
		expect(await messages(1)).toEqual([
			{ role: "user", content: "Warm" },
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "Two" },
		]);
	});

	it("marks the frames of each stream_id, and keeps their order", async () => {
		const { end, frames, send } = await connect();
		send({ type: "response.create", model: MODEL, input: "One", stream_id: "a" });
		send({ type: "response.create", model: MODEL, input: "Two", stream_id: "b" });
		await end(2);
		expect(new Set(frames.map(({ stream_id }) => stream_id))).toEqual(new Set(["a", "b"]));
	});

	it("answers mistakes with an error, and stays open", async () => {
		const { end, frames, send, socket } = await connect();
		socket.send("no JSON");
		expect(await end(1)).toMatchObject({ status: 400, error: { type: "invalid_request_error" } });
		send({ type: "response.create", model: MODEL, input: "x", previous_response_id: "resp_0" });
		expect(await end(2)).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
		send({ type: "response.create", model: MODEL, input: "x", background: true });
		expect(await end(3)).toMatchObject({ error: { param: "background" } });
		send({ type: "session.update" });
		expect(await end(4)).toMatchObject({ error: { param: "type" } });
		send({ type: "response.steer", previous_response_id: "resp_1", input: [] });
		await expect.poll(() => frames.at(-1)?.type, PATIENT).toBe("response.steer.failed");
		send({ type: "response.create", model: MODEL, input: "One" });
		expect((await end(5)).type).toBe("response.completed");
	});
});

describe("a connection that closes", () => {
	it("ends the engine's call, and its response is stored as cancelled", async () => {
		const engine = liveEvents();
		const { frames, get, send, socket } = await connect(() => engine.response);
		send({ type: "response.create", model: MODEL, input: "One" });
		engine.send(delta("Hel"));
		await expect.poll(() => frames.at(-1)?.type, PATIENT).toBe("response.output_text.delta");
		socket.close(1000);
		await engine.cancelled;
		const id = frames.find(({ response }) => response)?.response?.id;
		const status = async () => (await (await get(`/v1/responses/${id}`)).json<{ status: string }>()).status;
		await expect.poll(status, PATIENT).toBe("cancelled");
	});

	it("forgets what is not stored: another one continues only what is", async () => {
		const { gateway, requests } = world();
		const before = await open(gateway, requests);
		before.send({ type: "response.create", model: MODEL, input: "One", store: false });
		const forgotten = (await before.end(1)).response?.id;
		before.send({ type: "response.create", model: MODEL, input: "One" });
		const stored = (await before.end(2)).response?.id;
		before.socket.close(1000);
		const after = await open(gateway, requests);
		const next = { type: "response.create", model: MODEL, input: "Two", store: false };
		after.send({ ...next, previous_response_id: forgotten });
		expect(await after.end(1)).toMatchObject({
			status: 400,
			error: {
				code: "previous_response_not_found",
				param: "previous_response_id",
				type: "invalid_request_error",
			},
		});
		after.send({ ...next, previous_response_id: stored });
		expect((await after.end(2)).type).toBe("response.completed");
		expect(await after.messages(2)).toHaveLength(3);
	});
});

describe("several responses of a connection", () => {
	it("run one after the other with one stream_id, and beside each other with several", async () => {
		const engines = [liveEvents(), liveEvents(), liveEvents()];
		let calls = 0;
		const { frames, requests, send } = await connect(() => engines[calls++]?.response as Response);
		const finished = [delta("Hi"), finish(), usage(), DONE];
		const completions = () =>
			frames.filter(({ type }) => type === "response.completed").map(({ stream_id }) => stream_id);
		send({ type: "response.create", model: MODEL, input: "a1", stream_id: "a" });
		await expect.poll(() => requests.length, PATIENT).toBe(1);
		send({ type: "response.create", model: MODEL, input: "a2", stream_id: "a" });
		send({ type: "response.create", model: MODEL, input: "b1", stream_id: "b" });
		await expect.poll(() => requests.length, PATIENT).toBe(2);
		for (const frame of finished) engines[1]?.send(frame);
		await expect.poll(completions, PATIENT).toEqual(["b"]);
		expect(requests).toHaveLength(2);
		for (const frame of finished) engines[0]?.send(frame);
		await expect.poll(() => requests.length, PATIENT).toBe(3);
		for (const frame of finished) engines[2]?.send(frame);
		await expect.poll(completions, PATIENT).toEqual(["b", "a", "a"]);
		const inputs = await Promise.all(
			requests.map(async (request) => (await request.json<{ messages: [object] }>()).messages[0]),
		);
		expect(inputs).toEqual(["a1", "b1", "a2"].map((content) => ({ role: "user", content })));
	});

	it("are 32 at most, and those beyond them get an error", async () => {
		const { frames, requests, send } = await connect(() => liveEvents().response);
		for (let index = 0; index < 33; index++)
			send({ type: "response.create", model: MODEL, input: "Hi", stream_id: String(index) });
		await expect.poll(() => requests.length, PATIENT).toBe(32);
		expect(frames.filter(({ type }) => type === "error")).toMatchObject([
			{ status: 429, error: { message: expect.stringContaining("32 frames are open") } },
		]);
	});

	it("count the bytes of their frames until they are answered, and get an error if there is no room", async () => {
		const engine = liveEvents();
		const { end, requests, send, socket } = await connect(() => engine.response);
		const { limit, used: before } = bufferedBytes.report();
		const frame = { type: "response.create", model: MODEL, input: "a".repeat(100_000), store: false };
		send(frame);
		await expect.poll(() => requests.length, PATIENT).toBe(1);
		expect(bufferedBytes.report().used - before).toBeGreaterThan(100_000);
		bufferedBytes.limitTo(bufferedBytes.report().used + 50_000);
		try {
			send(frame);
			expect(await end(1)).toMatchObject({
				status: 429,
				error: { message: expect.stringContaining("bytes of buffered requests") },
			});
		} finally {
			bufferedBytes.limitTo(limit);
		}
		socket.close(1000);
		await engine.cancelled;
		await expect.poll(() => bufferedBytes.report().used, PATIENT).toBeLessThanOrEqual(before);
	});
});

describe("the limits of a connection", () => {
	const closed = (socket: WebSocket) =>
		new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve));

	it("end it after 60 minutes, with OpenAI's code", async () => {
		const { gateway, requests } = world();
		let elapsed = 0;
		gateway.services.now = () => NOW + elapsed;
		const { end, send, socket } = await open(gateway, requests);
		const closing = closed(socket);
		elapsed = 60 * 60_000 + 1;
		send({ type: "response.create", model: MODEL, input: "One" });
		expect(await end(1)).toMatchObject({
			status: 400,
			error: { type: "invalid_request_error", code: "websocket_connection_limit_reached" },
		});
		expect((await closing).code).toBe(1000);
	});

	it("end it after 100 frames that the gateway has refused, whatever the error", async () => {
		const { frames, send, socket, requests } = await connect(() => liveEvents().response);
		const closing = closed(socket);
		for (let index = 0; index < 1_000; index++)
			send({ type: "response.other", stream_id: String(index % 7) });
		expect(await closing).toMatchObject({ code: 1013, reason: "too many frames were refused" });
		expect(frames.map(({ type }) => type)).toEqual(Array(100).fill("error"));
		expect(requests).toHaveLength(0);
	});

	it("end it after 100 frames that are beyond the 32", async () => {
		const { frames, send, socket } = await connect(() => liveEvents().response);
		const closing = closed(socket);
		for (let index = 0; index < 32 + 101; index++)
			send({ type: "response.create", model: MODEL, input: "Hi", stream_id: String(index) });
		expect(await closing).toMatchObject({ code: 1013, reason: "too many frames were refused" });
		expect(frames.filter(({ type }) => type === "error")).toHaveLength(100);
	});

	it.each([429, 503, 400])("allow any number of frames that an engine answers with %i", async (status) => {
		let isFailing = true;
		const { end, send } = await connect(() =>
			isFailing ? Response.json({ error: { message: "busy" } }, { status }) : completed(),
		);
		for (let sent = 0; sent < 150; sent += 30) {
			for (let number = 0; number < 30; number++)
				send({ type: "response.create", model: MODEL, input: "Hi", stream_id: String(number) });
			expect((await end(sent + 30)).type).toBe("error");
		}
		isFailing = false;
		send({ type: "response.create", model: MODEL, input: "Hi" });
		expect((await end(151)).type).toBe("response.completed");
	});

	it("end it after a frame that is too large", async () => {
		const { end, services, socket } = await connect();
		const closing = closed(socket);
		socket.send("a".repeat(services.limits.jsonBytes + 1));
		expect(await end(1)).toMatchObject({ status: 413 });
		expect((await closing).code).toBe(1009);
	});
});
