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
		expect(await create({ input: names(2_000) })).toMatchObject(TOO_LARGE);
		const counted = await send("/responses/input_tokens", { model: MODEL, input: names(4) });
		expect([counted.status, JSON.stringify(counted.body)]).toEqual([
			413,
			expect.stringContaining("too large"),
		]);
		expect(await send("/responses/compact", { model: MODEL, input: names(4) })).toMatchObject(TOO_LARGE);
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

describe("an item with the id of another one that the request refers to", () => {
	const input = [reference("m1"), message("m1", "New")];
	const texts = [{ content: "Old" }, { content: "New" }];

	it("is stored as it was sent, and the reference stands for the earlier item", async () => {
		const { create, send, sent } = world();
		await send("/conversations", { items: [message("m1", "Old")] });
		const { body } = await create({ input });
		expect(await sent(0)).toMatchObject(texts);
		await create({ input: "And?", previous_response_id: body.id });
		expect(await sent(1)).toMatchObject([...texts, { content: "Hello" }, { content: "And?" }]);
	});

	it("is part of a conversation", async () => {
		const { create, send, sent } = world();
		await send("/conversations", { items: [message("m1", "Old")] });
		const { body } = await send("/conversations", { items: input });
		await create({ input: "And?", conversation: body.id });
		expect(await sent(0)).toMatchObject([...texts, { content: "And?" }]);
	});
});

describe("a list of large items", () => {
	type List = { data: { id: string }[]; has_more: boolean };
	const ids = ({ data }: List) => data.map(({ id }) => id);
	const large = (id: string) => message(id, "a".repeat(4_000_000));

	async function listed() {
		const made = world();
		const { body } = await made.send("/conversations", { items: [large("1"), large("2")] });
		await made.send(`/conversations/${body.id}/items`, { items: [large("3"), message("4", "small")] });
		return { ...made, conversation: body.id };
	}

	it("has pages of at most 10 MB, and all items in its pages", async () => {
		const { conversation, read } = await listed();
		const path = `/conversations/${conversation}/items?limit=100&order=asc`;
		const first = (await read(path)) as unknown as List;
		expect([ids(first), first.has_more]).toEqual([["1", "2"], true]);
		const second = (await read(`${path}&after=2`)) as unknown as List;
		expect([ids(second), second.has_more]).toEqual([["3", "4"], false]);
		const backwards = (await read(`/conversations/${conversation}/items?limit=100`)) as unknown as List;
		expect([ids(backwards), backwards.has_more]).toEqual([["4", "3", "2"], true]);
	});

	it("has pages of at most 10 MB, also if they are the input of a response", async () => {
		const { create, read } = await listed();
		const { body } = await create({ input: [reference("1"), reference("2"), large("5")], store: true });
		const path = `/responses/${body.id}/input_items?limit=100&order=asc`;
		const first = (await read(path)) as unknown as List;
		expect([ids(first), first.has_more]).toEqual([["1", "2"], true]);
		const second = (await read(`${path}&after=2`)) as unknown as List;
		expect([ids(second), second.has_more]).toEqual([["5"], false]);
	});

	it("is in the export once for each place, also of items with one id and of a response with a deleted item", async () => {
		const { conversation, create, get, send, app } = await listed();
		const { body: again } = await send("/conversations", { items: [] });
		for (let index = 0; index < 7; index++)
			await send(`/conversations/${again.id}/items`, {
				items: Array.from({ length: 20 }, () => reference("4")),
			});
		const { body: gone } = await send("/conversations", { items: [message("gone", "Gone")] });
		const { body: response } = await create({
			input: [reference("gone"), reference("1"), message("5", "Own")],
		});
		await app.request(`${BASE}/v1/conversations/${gone.id}`, { method: "DELETE" });
		const lines = (await (await get("/responses/export")).text())
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		const exported = lines.find(({ type }) => type === "response");
		expect(exported).toMatchObject({
			response: { id: response.id, output: [{ role: "assistant" }] },
			input: [{ id: "1" }, { id: "5" }],
		});
		const itemsOf = (id: string) =>
			lines
				.filter((line) => line.type === "conversation_item" && line.conversation === id)
				.map(({ item }) => item.id);
		expect(itemsOf(conversation)).toEqual(["1", "2", "3", "4"]);
		expect(itemsOf(again.id)).toEqual(Array.from({ length: 140 }, () => "4"));
	});
});
