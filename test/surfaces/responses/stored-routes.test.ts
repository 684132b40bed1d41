/** Stored responses and conversations, with OpenAI's client. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const MODEL = "gpt-5.6-sol";

function client(answer: (index: number) => object = () => completion("Hello")) {
	const { fetch, requests } = upstream(() => Response.json(answer(requests.length - 1)));
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
	const openai = new OpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (url, init) => gateway.app.request(String(url), init),
	});
	const messages = async (index: number): Promise<unknown> =>
		(await requests[index]?.clone().json<{ messages: unknown[] }>())?.messages;
	return { ...gateway, openai, requests, messages };
}

describe("a stored response", () => {
	it("is retrieved as it was created, and deleted", async () => {
		const { openai } = client();
		const created = await openai.responses.create({
			model: MODEL,
			input: "Hi",
			metadata: { topic: "greeting" },
		});
		expect(created.metadata).toEqual({ topic: "greeting" });
		expect(await openai.responses.retrieve(created.id)).toEqual(created);
		await openai.responses.delete(created.id);
		await expect(openai.responses.retrieve(created.id)).rejects.toMatchObject({
			status: 404,
			error: { message: `Response with id '${created.id}' not found.`, type: "invalid_request_error" },
		});
		await expect(openai.responses.delete(created.id)).rejects.toMatchObject({ status: 404 });
		await expect(
			openai.responses.create({ model: MODEL, input: "And?", previous_response_id: created.id }),
		).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" });
	});

	it("is not stored with store: false", async () => {
		const { openai } = client();
		const created = await openai.responses.create({ model: MODEL, input: "Hi", store: false });
		expect(created).toMatchObject({ store: false, previous_response_id: null });
		await expect(
			openai.responses.create({ model: MODEL, input: "x", previous_response_id: created.id }),
		).rejects.toMatchObject({ code: "previous_response_not_found" });
	});

	it("refuses an `include` that is no list, and an empty sequence number", async () => {
		const { openai, get, post } = client();
		const response = await post("/v1/responses", { model: MODEL, input: "Hi", include: "file_search" });
		expect(response.status).toBe(400);
		expect(await response.text()).toContain("include");
		const { id } = await openai.responses.create({ model: MODEL, input: "Hi" });
		for (const number of ["", "-1", "1e3"]) {
			const refused = await get(`/v1/responses/${id}?stream=true&starting_after=${number}`);
			expect(refused.status).toBe(400);
			expect(await refused.text()).toContain("'/starting_after'");
		}
	});

	it("lists its whole input in pages, the newest first", async () => {
		const { openai } = client((index) => completion(`Answer ${index}`));
		const first = await openai.responses.create({ model: MODEL, input: "One" });
		const second = await openai.responses.create({
			model: MODEL,
			input: [{ role: "user", content: "Two" }],
			previous_response_id: first.id,
		});
		const page = await openai.responses.inputItems.list(second.id, { limit: 2 });
		expect(page.data).toMatchObject([
			{ type: "message", role: "user", content: [{ type: "input_text", text: "Two" }], status: "completed" },
			{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Answer 0" }] },
		]);
		expect(page.has_more).toBe(true);
		const all: unknown[] = [];
		for await (const item of openai.responses.inputItems.list(second.id, { limit: 1, order: "asc" }))
			all.push(item);
		expect(all).toMatchObject([{ role: "user" }, { role: "assistant" }, { role: "user" }]);
	});
});

describe("item_reference", () => {
	it("stands for an item of the input or output of an earlier response", async () => {
		const { openai, messages } = client((index) => completion(`Answer ${index}`));
		const first = await openai.responses.create({ model: MODEL, input: "One" });
		const second = await openai.responses.create({
			model: MODEL,
			input: [
				{ role: "user", content: "One" },
				{ type: "item_reference", id: first.output[0]?.id ?? "" },
				{ role: "user", content: "Two" },
			],
		});
		expect(await messages(1)).toEqual([
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Answer 0" },
			{ role: "user", content: "Two" },
		]);
		await openai.responses.create({ model: MODEL, input: "Three", previous_response_id: second.id });
		expect(await messages(2)).toHaveLength(5);
		await openai.responses.delete(first.id);
		await expect(
			openai.responses.create({ model: MODEL, input: "Four", previous_response_id: second.id }),
		).rejects.toMatchObject({ status: 400, param: "input", code: null });
	});

	it("is not meant by ids that are names of every object", async () => {
		const { openai, messages } = client();
		const first = await openai.responses.create({
			model: MODEL,
			input: [
				{ type: "reasoning", id: "constructor", summary: [] },
				{ type: "message", id: "toString", role: "user", content: "One" } as never,
			],
		});
		await openai.responses.create({ model: MODEL, input: "Two", previous_response_id: first.id });
		expect(await messages(1)).toMatchObject([{ content: "One" }, { content: "Hello" }, { content: "Two" }]);
	});

	it("that is unknown is refused in OpenAI's words", async () => {
		const { openai } = client();
		await expect(
			openai.responses.create({ model: MODEL, input: [{ type: "item_reference", id: "rs_0" }] }),
		).rejects.toMatchObject({
			status: 400,
			param: "input",
			error: { message: expect.stringMatching(/^Item with id 'rs_0' not found\. Items are not persisted/) },
		});
	});
});

describe("compact", () => {
	it("returns the user's messages and a summary, which a later request continues", async () => {
		const { openai, messages } = client((index) => completion(index === 1 ? "They greeted." : "Hello"));
		const first = await openai.responses.create({ model: MODEL, input: "Hi" });
		const compacted = await openai.responses.compact({ model: MODEL, previous_response_id: first.id });
		expect(compacted).toMatchObject({
			object: "response.compaction",
			output: [
				{ type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
				{ type: "compaction", encrypted_content: expect.any(String) },
			],
			usage: { total_tokens: 5 },
		});
		await openai.responses.create({
			model: MODEL,
			input: [...compacted.output, { role: "user", content: "And?" }] as never,
		});
		expect(JSON.stringify(await messages(2))).toContain("They greeted.");
	});
});

describe("the export", () => {
	it("has each response with its items, and each conversation", async () => {
		const { openai, get } = client();
		const { id } = await openai.conversations.create({ metadata: { topic: "demo" } });
		const created = await openai.responses.create({ model: MODEL, input: "Hi", conversation: id });
		const text = await (await get("/responses/export")).text();
		const lines = text
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(lines).toMatchObject([
			{ type: "response", owner: "operator", response: { id: created.id }, input: [{ role: "user" }] },
			{ type: "conversation", conversation: { id, metadata: { topic: "demo" } } },
			{ type: "conversation_item", conversation: id, item: { role: "user" } },
			{ type: "conversation_item", conversation: id, item: { role: "assistant" } },
		]);
	});
});

describe("a conversation", () => {
	it("has the items of its responses", async () => {
		const { openai, messages } = client((index) => completion(`Answer ${index}`));
		const { id } = await openai.conversations.create({
			metadata: { topic: "demo" },
			items: [{ type: "message", role: "developer", content: "Be brief." }],
		});
		expect(id).toMatch(/^conv_[0-9a-f]{32}$/);
		const first = await openai.responses.create({ model: MODEL, input: "One", conversation: id });
		expect(first.conversation).toEqual({ id });
		await openai.responses.create({ model: MODEL, input: "Two", conversation: { id } });
		expect(await messages(1)).toEqual([
			{ role: "system", content: "Be brief." },
			{ role: "user", content: "One" },
			{ role: "assistant", content: "Answer 0" },
			{ role: "user", content: "Two" },
		]);
		const items = [];
		for await (const item of openai.conversations.items.list(id, { order: "asc", limit: 2 }))
			items.push(item);
		expect(items.map((item) => ("role" in item ? item.role : item.type))).toEqual([
			"developer",
			"user",
			"assistant",
			"user",
			"assistant",
		]);
		// The conversation keeps the items of a deleted response.
		await openai.responses.delete(first.id);
		expect((await openai.conversations.items.list(id)).data).toHaveLength(5);
	});

	it.each(["asc", "desc"] as const)("has items that are deleted while they are listed: %s", async (order) => {
		const { openai } = client();
		const made = async (texts: string[]) => {
			const items = texts.map((content) => ({ type: "message", role: "user", content }) as const);
			const { id } = await openai.conversations.create({ items });
			return id;
		};
		const id = await made(["a", "b", "c", "d", "e"]);
		const other = await made(["f"]);
		const all = (await openai.conversations.items.list(id, { order })).data.map((item) => item.id);
		expect(all).toHaveLength(5);
		const deleted: unknown[] = [];
		for await (const item of openai.conversations.items.list(id, { order, limit: 2 })) {
			await openai.conversations.items.delete(item.id ?? "", { conversation_id: id });
			deleted.push(item.id);
		}
		expect(deleted).toEqual(all);
		const after = String(all[0]);
		expect((await openai.conversations.items.list(id, { order, after })).data).toEqual([]);
		for (const [conversation, unknown] of [
			[other, after],
			[id, "msg_none"],
		] as const)
			await expect(
				openai.conversations.items.list(conversation, { order, after: unknown }),
			).rejects.toMatchObject({ status: 400 });
	});

	it("with large items of one id is refused as a list, instead of repeating its first page", async () => {
		const { openai } = client();
		const { id } = await openai.conversations.create({});
		const item = { type: "message", id: "msg_same", role: "user", content: "a".repeat(6_000_000) };
		for (let copy = 0; copy < 2; copy++)
			await openai.conversations.items.create(id, { items: [item as never] });
		const listed = async () => {
			for await (const shown of openai.conversations.items.list(id)) expect(shown.id).toBeUndefined();
		};
		await expect(listed()).rejects.toMatchObject({
			status: 400,
			message: expect.stringContaining("it repeats the ids of all items that fit into a page"),
		});
	});

	it("is changed and deleted, and its items too", async () => {
		const { openai } = client();
		const { id } = await openai.conversations.create({});
		expect(await openai.conversations.update(id, { metadata: { a: "b" } })).toMatchObject({
			id,
			object: "conversation",
			metadata: { a: "b" },
		});
		const added = await openai.conversations.items.create(id, {
			items: [
				{ type: "message", role: "user", content: "Hi" },
				{ type: "function_call", call_id: "call_1", name: "clock", arguments: "{}" },
			],
		});
		const [message, call] = added.data;
		expect(added).toMatchObject({
			object: "list",
			first_id: message?.id,
			last_id: call?.id,
			has_more: false,
		});
		const item = message?.id ?? "";
		expect(await openai.conversations.items.retrieve(item, { conversation_id: id })).toMatchObject({
			id: item,
			role: "user",
		});
		expect(await openai.conversations.items.delete(item, { conversation_id: id })).toMatchObject({ id });
		await expect(openai.conversations.items.retrieve(item, { conversation_id: id })).rejects.toMatchObject({
			status: 404,
		});
		expect(await openai.conversations.delete(id)).toEqual({
			id,
			object: "conversation.deleted",
			deleted: true,
		});
		await expect(openai.conversations.retrieve(id)).rejects.toMatchObject({
			status: 404,
			error: { message: `Conversation with id '${id}' not found.` },
		});
	});

	it("excludes previous_response_id", async () => {
		const { openai } = client();
		await expect(
			openai.responses.create({
				model: MODEL,
				input: "x",
				conversation: "conv_1",
				previous_response_id: "resp_1",
			}),
		).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
	});
});
