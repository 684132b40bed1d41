/** What a chain of stored responses keeps for the next engine call, and what happens to a stream whose caller leaves. */
import { describe, expect, it } from "vitest";
import {
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	testGateway,
	upstream,
	usage,
} from "../gateway.ts";

const MODEL = "gpt-5.6-sol";
const PATIENT = { timeout: 30_000 };
type Body = Record<string, unknown> & { id: string; output: Record<string, unknown>[] };

const answer = (message: object, finish_reason = "stop") => ({
	...completion(""),
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
});

function chain(replies: readonly object[]) {
	let index = 0;
	const { fetch, requests } = upstream(() => Response.json(replies[index++ % replies.length]));
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
	return {
		...gateway,
		create: async (fields: object) => {
			const response = await gateway.post("/v1/responses", { model: MODEL, ...fields });
			return response.json<Body>();
		},
		messages: async (number: number) =>
			(await requests[number]?.clone().json<{ messages: Record<string, unknown>[] }>())?.messages,
	};
}

describe("a chain", () => {
	it("has the reasoning of earlier responses, which callers get sealed only if they ask for it", async () => {
		const { create, get, messages } = chain([
			answer({ reasoning_content: "Ada is a name.", content: "Hello Ada" }),
		]);
		const first = await create({ input: "I am Ada." });
		expect(first.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
		expect(JSON.stringify(first)).not.toContain('"encrypted_content":"');
		const shown = await get(`/v1/responses/${first.id}?include[]=reasoning.encrypted_content`);
		const { output } = await shown.json<Body>();
		expect(output).toMatchObject([{ type: "reasoning" }, { type: "message" }]);
		await create({ input: "Who am I?", previous_response_id: first.id });
		expect(await messages(1)).toMatchObject([
			{ role: "user", content: "I am Ada." },
			{ role: "assistant", content: "Hello Ada", reasoning_content: "Ada is a name." },
			{ role: "user", content: "Who am I?" },
		]);
	});

	it("has the calls of custom tools, and takes their outputs", async () => {
		const call = {
			id: "call_1",
			type: "function",
			function: { name: "apply_patch", arguments: '{"input":"*** Begin Patch"}' },
		};
		const { create, messages } = chain([
			answer({ tool_calls: [call] }, "tool_calls"),
			answer({ content: "Done" }),
		]);
		const tools = [{ type: "custom", name: "apply_patch", description: "Edits files" }];
		const first = await create({ input: "Fix it", tools });
		expect(first.output).toMatchObject([
			{ type: "custom_tool_call", call_id: "call_1", name: "apply_patch", input: "*** Begin Patch" },
		]);
		const second = await create({
			...{ tools, previous_response_id: first.id },
			input: [{ type: "custom_tool_call_output", call_id: "call_1", output: "patched" }],
		});
		expect(second).toMatchObject({ status: "completed" });
		expect(await messages(1)).toMatchObject([
			{ role: "user", content: "Fix it" },
			{ role: "assistant", tool_calls: [{ id: "call_1", function: { name: "apply_patch" } }] },
			{ role: "tool", tool_call_id: "call_1", content: "patched" },
		]);
	});

	it("branches: two responses continue one, and neither has the items of the other", async () => {
		const { create, messages } = chain([completion("One"), completion("Two"), completion("Three")]);
		const root = await create({ input: "Root" });
		const [left, right] = await Promise.all([
			create({ input: "Left", previous_response_id: root.id }),
			create({ input: "Right", previous_response_id: root.id }),
		]);
		await create({ input: "Again", previous_response_id: right.id });
		expect(left.previous_response_id).toBe(root.id);
		const texts = (await messages(3))?.map(({ content }) => content);
		expect(texts).toEqual(["Root", "One", "Right", right.output.map(textOf)[0], "Again"]);
	});

	it("has the hosted calls of a response whose caller sends them again as items", async () => {
		const { create, get } = chain([completion("It rains")]);
		const search = {
			...{ type: "web_search_call", id: "ws_1", status: "completed" },
			action: { type: "search", query: "weather" },
		};
		const first = await create({ input: [search, { role: "user", content: "And now?" }] });
		expect(first).toMatchObject({ status: "completed" });
		const next = await create({ input: "Tomorrow?", previous_response_id: first.id });
		expect(next).toMatchObject({ status: "completed" });
		const listed = await get(`/v1/responses/${next.id}/input_items?order=asc`);
		const { data } = await listed.json<{ data: { type: string }[] }>();
		expect(data.map(({ type }) => type)).toEqual(["web_search_call", "message", "message", "message"]);
	});
});

const textOf = ({ content }: Record<string, unknown>): unknown => (content as { text: string }[])[0]?.text;

describe("a caller who leaves a stream", () => {
	it("cancels the engine's call, and the response is stored as cancelled", async () => {
		const live = liveEvents();
		live.send(delta("Hel"));
		const { fetch } = upstream(() => live.response);
		const { get, post } = testGateway({ vars: ENGINE_VARS, fetch });
		const response = await post("/v1/responses", { model: MODEL, input: "Hi", stream: true });
		const reader = (response.body as ReadableStream<Uint8Array>).getReader();
		let text = "";
		while (!text.includes("response.output_text.delta"))
			text += new TextDecoder().decode((await reader.read()).value);
		const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1];
		await reader.cancel();
		await live.cancelled;
		await expect.poll(async () => (await get(`/v1/responses/${id}`)).status, PATIENT).toBe(200);
		expect(await (await get(`/v1/responses/${id}`)).json()).toMatchObject({
			id,
			status: "cancelled",
			output: [],
		});
	});

	it("changes nothing after the end", async () => {
		const { fetch } = upstream(() => events(delta("Hello"), finish(), usage(), DONE));
		const { get, post } = testGateway({ vars: ENGINE_VARS, fetch });
		const response = await post("/v1/responses", { model: MODEL, input: "Hi", stream: true });
		const reader = (response.body as ReadableStream<Uint8Array>).getReader();
		let text = "";
		while (!text.includes("event: response.completed"))
			text += new TextDecoder().decode((await reader.read()).value);
		await reader.cancel();
		const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1];
		expect(await (await get(`/v1/responses/${id}`)).json()).toMatchObject({ id, status: "completed" });
	});
});
