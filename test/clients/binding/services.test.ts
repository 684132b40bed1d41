/** What the runtime's own class asks beside `run`: Markdown, the gateway and AutoRAG. */
import { expect, it } from "vitest";
import { AI } from "./ai.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const thrownBy = (call: Promise<unknown>): Promise<unknown> => call.catch((caught: unknown) => caught);
const step = {
	provider: "workers-ai",
	endpoint: LLAMA,
	headers: { "cf-aig-cache-ttl": 60 },
	query: { prompt: "Hi" },
};

it("converts files", async () => {
	const html = { name: "a.html", blob: new Blob(["<h1>Hi <i>you</i></h1>"], { type: "text/html" }) };
	const pdf = { name: "b.pdf", blob: new Blob(["%PDF"]) };
	expect(await AI.toMarkdown([html, pdf])).toMatchObject([
		{ name: "a.html", mimeType: "text/html", format: "markdown", tokens: 5, data: "# Hi _you_\n" },
		{ name: "b.pdf", mimeType: "application/pdf", format: "error" },
	]);
	const options = { conversionOptions: { html: { cssSelector: "i" } } };
	expect(await AI.toMarkdown().transform(html, options)).toMatchObject({ data: "_you_\n" });
	expect(await AI.toMarkdown().supported()).toContainEqual({ extension: ".csv", mimeType: "text/csv" });
	expect(
		await thrownBy(AI.toMarkdown(html, { conversionOptions: { html: { cssSelector: 1 } } } as never)),
	).toMatchObject({
		name: "AiInternalError",
		message: expect.stringContaining("/conversionOptions/html/cssSelector"),
	});
}, 30_000);

it("searches the web", async () => {
	const response = await AI.websearch({ gatewayId: "default", query: "Durable Objects", limit: 2 });
	expect(response).toBeInstanceOf(Response);
	expect(await response.json()).toMatchObject({
		items: [
			{ title: "Simulated result 1 for: Durable Objects", url: expect.stringContaining("simulated.invalid") },
			{ title: "Simulated result 2 for: Durable Objects" },
		],
		metadata: { query: "Durable Objects" },
	});
});

it("runs a gateway's steps", async () => {
	const gateway = AI.gateway("mine");
	const response = await gateway.run([{ ...step, provider: "openai" }, step], {
		gateway: { id: "mine", eventId: "event-1" },
	});
	expect([
		response.status,
		response.headers.get("cf-aig-step"),
		response.headers.get("cf-aig-event-id"),
	]).toEqual([200, "1", "event-1"]);
	expect(await response.json()).toMatchObject({ result: { response: expect.any(String) }, success: true });
});

it("follows a gateway's address", async () => {
	const url = await AI.gateway("mine").getUrl("workers-ai");
	const response = await AI.fetch(`${url}/v1/chat/completions`, {
		method: "POST",
		body: JSON.stringify({ model: LLAMA, messages: [{ role: "user", content: "Hi" }] }),
	});
	expect(await response.json()).toMatchObject({ object: "chat.completion", model: LLAMA });
	expect(await AI.gateway("mine").getUrl()).toMatch(/\/mine\/$/);
	await expect(AI.gateway("mine").getUrl("opnai")).rejects.toThrow(
		'Invalid provider: "opnai" is unknown; did you mean "openai"?',
	);
});

it("reads and changes the log of a request", async () => {
	const gateway = AI.gateway("mine");
	await AI.run(
		"@cf/meta/llama-3.1-8b-instruct-fp8",
		{ prompt: "Hi" },
		{ gateway: { id: "mine", metadata: { user: "u1" } } },
	);
	const id = AI.aiGatewayLogId ?? "";
	await gateway.patchLog(id, { feedback: 1, score: 90 });
	const log = await gateway.getLog(id);
	expect(log).toMatchObject({
		id,
		provider: "workers-ai",
		success: true,
		metadata: { user: "u1" },
		feedback: 1,
		score: 90,
	});
	expect(Math.abs(log.created_at.getTime() - Date.now())).toBeLessThan(60_000);
});

it("finds no log and no AutoRAG", async () => {
	const gateway = AI.gateway("mine");
	const notFound = { name: "AiGatewayLogNotFound", message: 'Log Not Found: "1" in the gateway "mine"' };
	expect(await thrownBy(gateway.getLog("1"))).toMatchObject(notFound);
	expect(await thrownBy(gateway.patchLog("1", { feedback: 1 }))).toMatchObject(notFound);
	expect(await AI.autorag("mine").list()).toEqual([]);
	const search = AI.autorag("mine").search({ query: "q" });
	expect(await thrownBy(search)).toMatchObject({
		name: "AutoRAGNotFoundError",
		message: 'ai_search_not_found: "mine" in the namespace "default"',
	});
});
