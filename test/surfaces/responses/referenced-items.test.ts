/** Requests that refer to stored items: a small request may name large items, and one item many times. */
import { describe, expect, it } from "vitest";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const MODEL = "gpt-5.6-sol";
/** A machine that is busy delays the first use of a module. */
const PATIENT = { timeout: 30_000 };
type Body = Record<string, unknown> & { id: string };

function world() {
	const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
	const send = async (path: string, body: object) => {
		const response = await gateway.post(`/v1${path}`, body);
		return { status: response.status, body: await response.json<Body>() };
	};
	return {
		...gateway,
		requests,
		send,
		create: (fields: object) => send("/responses", { model: MODEL, ...fields }),
		read: async (path: string) => (await gateway.get(`/v1${path}`)).json<Body>(),
		sent: async (index: number): Promise<unknown> =>
			(await requests[index]?.clone().json<{ messages: unknown[] }>())?.messages,
	};
}

const message = (id: string, content: string) => ({ type: "message", id, role: "user", content });
const reference = (id: string) => ({ type: "item_reference", id });
const TOO_LARGE = { status: 400, body: { error: { code: "context_length_exceeded" } } };

describe("a request that names more than 10 MB of stored items", () => {
	const large = (id: string) => message(id, "a".repeat(3_000_000));
	const names = (count: number) => Array.from({ length: count }, () => reference("large"));

	it("is refused, also if it names one item many times", async () => {
		const { create, requests, send } = world();
		await send("/conversations", { items: [large("large")] });
		expect((await create({ input: names(3) })).status).toBe(200);
		expect(requests).toHaveLength(1);
		expect(await create({ input: names(4) })).toMatchObject(TOO_LARGE);
		expect(await create({ input: names(4), store: false })).toMatchObject(TOO_LARGE);
		expect(await create({ input: names(4), background: true })).toMatchObject(TOO_LARGE);
		expect(await create({ input: names(200_000) })).toMatchObject(TOO_LARGE);
		for (const path of ["/responses/input_tokens", "/responses/compact"])
			expect(await send(path, { model: MODEL, input: names(4) })).toMatchObject({ status: 400 });
		expect(requests).toHaveLength(1);
	});

	it("is refused, also if each item is small enough, or some are those of a conversation", async () => {
		const { create, requests, send } = world();
		const { body } = await send("/conversations", { items: [large("1"), large("2")] });
		await send("/conversations", { items: [large("3"), large("4")] });
		const input = ["1", "2", "3", "4"].map(reference);
		expect(await create({ input })).toMatchObject(TOO_LARGE);
		expect(await create({ input: [reference("3"), reference("4")], conversation: body.id })).toMatchObject(
			TOO_LARGE,
		);
		expect(await send("/conversations", { items: input })).toMatchObject(TOO_LARGE);
		expect(await send(`/conversations/${body.id}/items`, { items: input })).toMatchObject(TOO_LARGE);
		expect(requests).toHaveLength(0);
		expect((await create({ input: input.slice(0, 3) })).status).toBe(200);
	});

	it("is refused over a websocket", async () => {
		const { app, requests, send } = world();
		await send("/conversations", { items: [large("large")] });
		const { webSocket } = await app.request(`${BASE}/v1/responses`, { headers: { upgrade: "websocket" } });
		const socket = webSocket as WebSocket;
		socket.accept();
		const frames: unknown[] = [];
		socket.addEventListener("message", ({ data }) => frames.push(JSON.parse(String(data))));
		socket.send(JSON.stringify({ type: "response.create", model: MODEL, input: names(4) }));
		await expect.poll(() => frames, PATIENT).toHaveLength(1);
		expect(frames).toMatchObject([{ type: "error", error: { code: "context_length_exceeded" } }]);
		expect(requests).toHaveLength(0);
		socket.close();
	});
});
