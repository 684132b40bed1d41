/** Codex's standalone search, `/v1/alpha/search`. */
import { expect, it } from "vitest";
import { withTrace } from "../../../src/outbound/passed-headers.ts";
import { testGateway } from "../../gateway.ts";
import { SEARCH_VARS, searchHosts } from "../../websearch/search-hosts.ts";

function gateway(vars: Record<string, unknown> = SEARCH_VARS) {
	const hosts = searchHosts();
	const { post } = testGateway({ vars: { DEFAULT_BACKEND: "", ...vars }, fetch: hosts.fetch });
	const search = async (body: object) => {
		const response = await post("/v1/alpha/search", { id: "s1", model: "gpt-5.6-luna", ...body });
		return { status: response.status, body: await response.json<{ output: string; error?: object }>() };
	};
	return { search, requests: hosts.requests };
}

it("answers the searches as one text, with the filters of each", async () => {
	const { search, requests } = gateway();
	const commands = {
		search_query: [{ q: "Durable Objects" }, { q: "alarms", domains: ["developers.cloudflare.com"] }],
		response_length: "short",
	};
	const settings = { search_context_size: "low", filters: { blocked_domains: ["example.com"] } };
	const { status, body } = await search({ commands, settings });
	expect(status).toBe(200);
	expect(body.output).toMatch(/^Search: Durable Objects\nExcerpts of web pages follow\./);
	expect(body.output).toContain("\n\nSearch: alarms\nExcerpts");
	expect(body.output).toContain("URL: https://developers.cloudflare.com/durable-objects/");
	expect(body.output).not.toContain("https://example.com/untitled");
	expect(requests.map((request) => request.body)).toMatchObject([
		{ query: "Durable Objects", numResults: 3, excludeDomains: ["example.com"] },
		{ query: "alarms", includeDomains: ["developers.cloudflare.com"] },
	]);
});

it("says which commands it does not have, in a successful answer", async () => {
	const { search } = gateway();
	const { status, body } = await search({ commands: { open: [{ ref_id: "turn0search0" }] } });
	expect([status, body.output]).toEqual([
		200,
		"The command open is not available: this gateway searches, and opens no pages.",
	]);
	expect((await search({})).body.output).toBe("There is no command in the request.");
	const none = await gateway({}).search({ commands: { search_query: [{ q: "cats" }] } });
	expect([none.status, none.body.output]).toEqual([200, "Search: cats\nThe search failed: unavailable."]);
});

it("limits the text, and refuses an invalid body in OpenAI's format", async () => {
	const { search } = gateway();
	const commands = { search_query: [{ q: "Durable Objects" }] };
	expect((await search({ commands, max_output_tokens: 10 })).body.output).toHaveLength(40);
	const { status, body } = await search({ commands: { search_query: "cats" } });
	expect([status, body.error]).toMatchObject([400, { type: "invalid_request_error" }]);
});

it("sends the caller's trace to no provider", async () => {
	const { search, requests } = gateway();
	const commands = { search_query: [{ q: "Durable Objects" }] };
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	expect((await withTrace(trace, () => search({ commands }))).status).toBe(200);
	expect(requests.map(({ headers }) => headers.get("traceparent"))).toEqual([null]);
});
