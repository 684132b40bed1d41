/** The end of answers with web searches: a caller who leaves, and the log and limits of a gateway. */
import { expect, it } from "vitest";
import {
	BASE,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	testGateway,
	usage,
} from "../../gateway.ts";
import { SEARCH_CALL, searchingGateway } from "./search-engine.ts";

const REQUEST = {
	model: "gpt-6-astra",
	input: "Do Durable Objects have storage?",
	tools: [{ type: "web_search" }],
};

it("a caller who leaves during a later round ends the engine's call, and nothing is searched after it", async () => {
	const live = liveEvents();
	let rounds = 0;
	const call = { index: 0, id: "call-1", type: "function", function: SEARCH_CALL };
	const asks = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] })}\n\n`;
	const searches: string[] = [];
	const { post } = testGateway({
		vars: { ...ENGINE_VARS, WEB_SEARCH: { own: { kind: "searxng", url: "http://searx.lan" } } },
		fetch: async (input) => {
			const { url } = new Request(input);
			if (url.startsWith("http://searx.lan")) {
				searches.push(url);
				return Response.json({ results: [] });
			}
			return ++rounds === 1 ? events(asks, finish("tool_calls"), usage(), DONE) : live.response;
		},
	});
	const response = await post("/v1/responses", { ...REQUEST, store: false, stream: true });
	const reader = response.body?.getReader();
	let text = "";
	live.send(delta("They "));
	while (!text.includes("They ")) {
		const part = await reader?.read();
		text += new TextDecoder().decode(part?.value);
	}
	await reader?.cancel();
	await live.cancelled;
	expect([rounds, searches.length]).toEqual([2, 1]);
});

it("a gateway's log has the tokens of all rounds and the cost with the searches", async () => {
	const vars = { WEB_SEARCH: { exa: { kind: "exa", key: "EXA_KEY" } } };
	const { app, post } = searchingGateway(undefined, vars);
	// Other tests change the settings of the gateway `default`.
	const headers = { "cf-aig-gateway-id": "hosted-searches" };
	const response = await post("/v1/responses", { ...REQUEST, store: false }, { headers });
	const id = response.headers.get("cf-aig-log-id");
	await response.text();
	const address = `${BASE.replace(/\/ai$/, "")}/ai-gateway/gateways/hosted-searches/logs/${id}`;
	const log = await expect
		.poll(
			async () =>
				(await (await app.request(address)).json<{ result: Record<string, unknown> | null }>()).result,
		)
		.not.toBeNull()
		.then(
			async () => (await (await app.request(address)).json<{ result: Record<string, unknown> }>()).result,
		);
	expect(log).toMatchObject({ tokens_in: 6, tokens_out: 4, success: true });
	// A search of Exa. The model has no price.
	expect(Number(log.cost)).toBeCloseTo(0.007, 6);
});
