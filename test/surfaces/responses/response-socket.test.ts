/** The websocket of OpenAI's Responses API. */
import { describe, expect, it } from "vitest";
import {
	BASE,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";

const MODEL = "gpt-5.6-sol";
/** A machine that is busy delays the first use of a module. */
const PATIENT = { timeout: 30_000 };
type Frame = Record<string, unknown> & { type: string; response?: { id: string } };

const completed = () => events(delta("Hel"), delta("lo"), finish(), usage(), DONE);

async function connect(engine = completed) {
	const { fetch, requests } = upstream(engine);
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
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
	return { ...gateway, socket, frames, send, end, messages, requests };
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
