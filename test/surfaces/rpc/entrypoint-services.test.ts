/** The services that the entrypoint returns over RPC as stubs. */
import { exports } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ALL_FORMATS } from "../../retrieval/documents/supported.ts";

interface File {
	name: string;
	blob: Blob;
}
interface MarkdownService {
	transform(files: File | File[], options?: object): Promise<unknown>;
	supported(): Promise<{ extension: string }[]>;
}
interface Gateway {
	run(data: unknown, options?: object): Promise<Response>;
	getUrl(provider?: string): Promise<string>;
	getLog(id: string): Promise<unknown>;
	patchLog(id: string, data: object): Promise<unknown>;
}
interface Ai {
	models(params?: object): Promise<unknown>;
	toMarkdown(): Promise<MarkdownService>;
	toMarkdown(files: File | File[], options?: object | null): Promise<unknown>;
	gateway(id: string): Promise<Gateway>;
	aiSearch(): Promise<unknown>;
	websearch(request: object): Promise<Response>;
}
const ai = (exports as unknown as { AI: (options: { props: object }) => Ai }).AI({
	props: { account: "team-a" },
});

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const failure = (call: Promise<unknown>): Promise<unknown> => call.catch((caught: unknown) => caught);
const file = (name: string, text: string, type = ""): File => ({ name, blob: new Blob([text], { type }) });

// The first calls load the gateway and the libraries.
beforeAll(async () => {
	await ai.models({ per_page: 1 });
	await ai.toMarkdown(file("a.html", ""));
}, 60_000);

describe("toMarkdown", () => {
	it("answers a list with a list, and one file with one result", async () => {
		const csv = {
			id: expect.stringMatching(/^[0-9a-f-]{36}$/),
			name: "a.csv",
			mimeType: "text/csv",
			format: "markdown",
			tokens: 3,
			data: "| a |\n| --- |\n",
		};
		expect(await ai.toMarkdown([file("a.csv", "a\n"), file("b.pdf", "x", "application/pdf")])).toEqual([
			{ ...csv, tokens: expect.any(Number) },
			{
				id: expect.any(String),
				name: "b.pdf",
				mimeType: "application/pdf",
				format: "error",
				error: "The PDF is damaged",
			},
		]);
		expect(await ai.toMarkdown(file("a.csv", "a\n", "text/csv"))).toMatchObject({
			name: "a.csv",
			format: "markdown",
		});
		expect(await ai.toMarkdown([])).toEqual([]);
	});

	it("accepts options", async () => {
		const options = { conversionOptions: { output: { format: "text" }, html: { cssSelector: "b" } } };
		expect(await ai.toMarkdown(file("a.html", "<p>x <b>y</b>"), options)).toMatchObject({
			format: "text",
			data: "y\n",
		});
		expect(await ai.toMarkdown(file("a.html", "<p>x"), null)).toMatchObject({ data: "x\n" });
	});

	it("returns the service", async () => {
		const service = await ai.toMarkdown();
		expect(await service.transform(file("a.html", "<i>x</i>"))).toMatchObject({ data: "_x_\n" });
		expect(await service.supported()).toEqual(ALL_FORMATS);
	});

	it("throws if an argument is not a file", async () => {
		expect(await failure(ai.toMarkdown({ name: "a.csv" } as File))).toMatchObject({
			name: "AiError",
			message: "5006: Error: required properties at '/files' are 'name,blob'",
			internalCode: 5006,
		});
		expect(
			await failure(ai.toMarkdown(file("a.csv", "x"), { conversionOptions: { html: 1 } })),
		).toMatchObject({
			internalCode: 5006,
		});
	});
});

describe("gateway", () => {
	const step = { provider: "workers-ai", endpoint: LLAMA, headers: {}, query: { prompt: "Hi" } };

	it("runs steps", async () => {
		const gateway = await ai.gateway("mine");
		const response = await gateway.run([{ ...step, provider: "openai" }, step], {
			gateway: { eventId: "event-1" },
		});
		expect(response.headers.get("cf-aig-step")).toBe("1");
		expect(response.headers.get("cf-aig-event-id")).toBe("event-1");
		expect(await response.json()).toMatchObject({ result: { response: expect.any(String) }, success: true });
		const streamed = await gateway.run(
			{ ...step, query: { prompt: "Hi", stream: true } },
			{ extraHeaders: { "CF-AIG-Event-ID": "event-2" }, gateway: { eventId: "event-1" } },
		);
		expect(streamed.headers.get("cf-aig-event-id")).toBe("event-2");
		expect(await streamed.text()).toMatch(/data: \[DONE\]\n\n$/);
		const refused = await gateway.run([]);
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ name: "AiGatewayError", internalCode: 5006 });
	});

	it("has an address that resolves to no host", async () => {
		const gateway = await ai.gateway("mine");
		expect(await gateway.getUrl("openai")).toBe("https://ganglion.invalid/v1/team-a/mine/openai");
		expect(await gateway.getUrl()).toBe("https://ganglion.invalid/v1/team-a/mine/");
		expect(await failure(gateway.getUrl("opnai"))).toMatchObject({
			name: "AiGatewayInternalError",
			message: 'Invalid provider: "opnai" is unknown; did you mean "openai"?',
		});
	});

	it("has the instances of AI Search", async () => {
		const search = (await ai.aiSearch()) as { list(): Promise<unknown> };
		expect(await search.list()).toMatchObject({ result: [], result_info: { total_count: 0 } });
	});

	it("searches the web, and returns a failure as a response", async () => {
		const found = await ai.websearch({ gatewayId: "default", query: "Durable Objects", limit: 2 });
		expect(found.status).toBe(200);
		const { items } = await found.json<{ items: { title: string }[] }>();
		expect(items.map(({ title }) => title)).toEqual([
			"Simulated result 1 for: Durable Objects",
			"Simulated result 2 for: Durable Objects",
		]);
		const refused = await ai.websearch({ gatewayId: "default" });
		expect([refused.status, await refused.json()]).toEqual([
			400,
			{
				success: false,
				errors: [{ code: 7000, message: "Invalid request" }],
				messages: [{ path: ["query"], message: expect.any(String) }],
			},
		]);
	});

	it("finds no log", async () => {
		const gateway = await ai.gateway("mine");
		const notFound = { name: "AiGatewayLogNotFound", message: 'Log Not Found: "1" in the gateway "mine"' };
		expect(await failure(gateway.getLog("1"))).toMatchObject(notFound);
		expect(await failure(gateway.patchLog("1", { feedback: 1 }))).toMatchObject(notFound);
	});
});

describe("run with a gateway", () => {
	it("returns the value, the stream or the response, and throws the error of the runtime's class", async () => {
		const gateway = { id: "mine", eventId: "event-3" };
		const run = (ai as unknown as { run(...args: unknown[]): Promise<unknown> }).run;
		const inputs = { prompt: "Hi" };
		expect(await run(LLAMA, inputs, { gateway })).toMatchObject({ response: expect.any(String) });
		const stream = await run(LLAMA, { ...inputs, stream: true }, { gateway });
		expect(await new Response(stream as ReadableStream).text()).toMatch(/data: \[DONE\]\n\n$/);
		const response = (await run(LLAMA, inputs, { gateway, returnRawResponse: true })) as Response;
		expect(response.headers.get("cf-aig-event-id")).toBe("event-3");
		expect(await response.json()).toMatchObject({ response: expect.any(String) });
		expect(await failure(run(LLAMA, { prompt: 7 }, { gateway }))).toMatchObject({
			name: "AiError",
			internalCode: 5006,
			httpCode: 400,
			message: expect.stringMatching(/^5006: /),
		});
		expect(await failure(run(LLAMA, inputs, { gateway: { id: "no/such" } }))).toMatchObject({
			name: "AiGatewayError",
			internalCode: 2001,
		});
	});
});
