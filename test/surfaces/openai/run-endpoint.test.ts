/** The option `openaiEndpoint` runs a request as its endpoint does: with hosted searches and stored responses. */
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import type { AppServices } from "../../../src/surfaces/services.ts";
import { BASE, CALLER } from "../../gateway.ts";
import { dataOf, searchingGateway } from "../../websearch/hosted/search-engine.ts";

const MODEL = "gpt-6-astra";
const QUESTION = "Do Durable Objects have storage?";

const bindTo =
	(services: AppServices) =>
	(inputs: object, openaiEndpoint: string): Promise<Response> =>
		Promise.resolve(
			wireOf(services).fetch(
				new Request("https://workers-binding.ai/ai-gateway/run?version=3", {
					method: "POST",
					headers: { "content-type": "application/json", "cf-consn-model-id": MODEL },
					body: JSON.stringify({ inputs, options: { gateway: { id: "default" }, openaiEndpoint } }),
				}),
				{ caller: CALLER },
			),
		);

it("/v1/responses searches, and stores the response for the next request and for REST", async () => {
	const { services, app, requests, searches } = searchingGateway();
	const bind = bindTo(services);
	const first = await bind({ input: QUESTION, tools: [{ type: "web_search" }] }, "/v1/responses");
	const response = await first.json<{ id: string; output: { type: string }[] }>();
	expect(response.output.map(({ type }) => type)).toEqual(["web_search_call", "message"]);
	expect(searches).toHaveLength(1);
	const next = await bind({ input: "Thanks", previous_response_id: response.id }, "/v1/responses");
	expect(next.status).toBe(200);
	expect(requests.at(-1)?.messages[0]).toMatchObject({ role: "user", content: QUESTION });
	const found = await app.request(`${BASE}/v1/responses/${response.id}`);
	expect(await found.json()).toMatchObject({ id: response.id, status: "completed" });
});

it("/v1/messages searches in a stream", async () => {
	const { services, searches } = searchingGateway();
	const response = await bindTo(services)(
		{
			max_tokens: 64,
			messages: [{ role: "user", content: QUESTION }],
			tools: [{ type: "web_search_20250305", name: "web_search" }],
			stream: true,
		},
		"/v1/messages",
	);
	const started = dataOf<{ content_block?: { type: string } }>(await response.text()).flatMap(
		({ content_block }) => content_block?.type ?? [],
	);
	expect(started.slice(0, 2)).toEqual(["server_tool_use", "web_search_tool_result"]);
	expect(searches).toHaveLength(1);
});

describe("a search in a gateway", () => {
	it.each([
		{
			name: "of the default provider",
			vars: { EXA_API_KEY: "operators-key", WEB_SEARCH: { exa: { kind: "exa", key: "EXA_API_KEY" } } },
		},
		{ name: "without WEB_SEARCH", vars: { WEB_SEARCH: {} } },
	])("uses the gateway's stored key $name, and the log has its price", async ({ vars }) => {
		const { post, app, searches } = searchingGateway(undefined, vars);
		const gateway = `gw-${crypto.randomUUID()}`;
		const address = `${BASE.replace(/\/ai$/, "/ai-gateway")}/gateways/${gateway}`;
		const stored = await app.request(`${address}/provider_configs`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify({ provider_slug: "exa", secret: "exa-secret", default_config: true }),
		});
		expect(stored.status).toBe(200);
		const body = { model: MODEL, input: QUESTION, tools: [{ type: "web_search" }] };
		const answer = await post("/v1/responses", body, { headers: { "cf-aig-gateway-id": gateway } });
		expect(await answer.json()).toMatchObject({ output: [{ status: "completed" }, { type: "message" }] });
		expect(searches.map(({ headers }) => headers.get("x-api-key"))).toEqual(["exa-secret"]);
		// Exa: $7 for 1,000 searches. The model has no price.
		const log = async () =>
			(await app.request(`${address}/logs/${answer.headers.get("cf-aig-log-id")}`)).json();
		await expect.poll(log).toMatchObject({ result: { cost: 0.007, tokens_in: 6 } });
	});

	it("has no tool without any key", async () => {
		const { post, requests } = searchingGateway(() => ({ text: "Yes." }), { WEB_SEARCH: {} });
		const body = { model: MODEL, input: QUESTION, tools: [{ type: "web_search" }] };
		// Another test stores keys in the gateway `default`.
		const gateway = `gw-${crypto.randomUUID()}`;
		const answer = await post("/v1/responses", body, { headers: { "cf-aig-gateway-id": gateway } });
		expect([answer.status, answer.headers.get("x-ganglion-dropped")]).toEqual([200, "tools.web_search"]);
		expect(requests[0]?.tools).toBeUndefined();
	});
});
