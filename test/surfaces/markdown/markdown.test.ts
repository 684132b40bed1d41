import { beforeAll, describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { BASE, CALLER, testGateway, testServices } from "../../gateway.ts";
import { ALL_FORMATS } from "../../retrieval/documents/supported.ts";

const UUID = /^[0-9a-f-]{36}$/;

const { app, get } = testGateway();
const wire = wireOf(testServices());

const form = (path: string, fields: [string, string | File][]): Promise<Response> => {
	const body = new FormData();
	for (const [name, value] of fields) {
		if (typeof value === "string") body.append(name, value);
		else body.append(name, value, value.name);
	}
	return Promise.resolve(app.request(`${BASE}${path}`, { method: "POST", body }));
};
const file = (name: string, text: string, type = ""): File => new File([text], name, { type });

const transform = (body: unknown): Promise<Response> =>
	Promise.resolve(
		wire.fetch(
			new Request("https://workers-binding.ai/to-everything/markdown/transformer", {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: typeof body === "string" ? body : JSON.stringify(body),
			}),
			{ caller: CALLER },
		),
	);

// The first page loads the libraries.
beforeAll(() => form("/tomarkdown", [["files", file("a.html", "")]]), 60_000);

describe("tomarkdown over REST", () => {
	it("returns a result for every file of the form, also for invalid ones", async () => {
		const response = await form("/tomarkdown", [
			["files", file("a.html", "<h1>Hi</h1>", "text/html")],
			["files", file("b.key", "PK", "application/vnd.apple.keynote")],
		]);
		expect(response.status).toBe(200);
		expect(await response.json()).toEqual({
			result: [
				{
					id: expect.stringMatching(UUID),
					name: "a.html",
					mimeType: "text/html",
					format: "markdown",
					tokens: 3,
					data: "# Hi\n",
				},
				{
					id: expect.stringMatching(UUID),
					name: "b.key",
					mimeType: "application/vnd.apple.keynote",
					format: "error",
					error: "Unsupported file format: .key (application/vnd.apple.keynote)",
				},
			],
			success: true,
			errors: [],
			messages: [],
		});
	});

	it("takes the SDK's field name and the options", async () => {
		const response = await form("/tomarkdown", [
			["files[]", file("a.html", '<p class=x><a href="/y">y</a><p>z')],
			[
				"conversionOptions",
				'{"output":{"format":"text"},"html":{"cssSelector":".x","hostname":"a.b"},"pdf":{}}',
			],
		]);
		expect(await response.json()).toMatchObject({ result: [{ format: "text", tokens: 2, data: "y\n" }] });
	});

	it("names fields and options that have no effect", async () => {
		const options = { html: { cssSelecter: "p", images: { convert: false, max: 1 } }, cssSelector: "p" };
		const response = await form("/tomarkdown", [
			["files", file("a.html", "<p>y")],
			["conversionOption", "{}"],
			["conversionOptions", JSON.stringify(options)],
		]);
		expect(await response.json()).toMatchObject({
			result: [{ data: "y\n" }],
			messages: [
				{ message: 'conversionOption: unknown, ignored; did you mean "conversionOptions"?' },
				{ message: 'conversionOptions.html.cssSelecter: unknown, ignored; did you mean "cssSelector"?' },
				{ message: expect.stringMatching(/^conversionOptions\.html\.images\.max: unknown, ignored/) },
				{ message: 'conversionOptions.cssSelector: unknown, ignored; did you mean "html.cssSelector"?' },
			],
		});
	});

	it.each<[string, [string, string | File][], string]>([
		["a form without files", [["x", "y"]], "Error: required properties at '/' are 'files'"],
		[
			"options that are not JSON",
			[
				["files", file("a.csv", "x")],
				["conversionOptions", "{"],
			],
			"Error: conversionOptions is not valid JSON, at position 1 (line 1 column 2)",
		],
		[
			"options of the wrong type",
			[
				["files", file("a.csv", "x")],
				["conversionOptions", '{"html":{"hostname":1}}'],
			],
			"Error: Type mismatch of '/html/hostname', 'string' not in 'number','integer'",
		],
	])("refuses %s", async (_, fields, description) => {
		const response = await form("/tomarkdown", fields);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 5006, message: `AiError: Bad input: ${description}` }],
		});
	});

	it("refuses a body that is not a form, and files that are too large", async () => {
		const json = await app.request(`${BASE}/tomarkdown`, {
			method: "POST",
			body: "{}",
			headers: { "content-type": "application/json" },
		});
		expect(await json.json()).toMatchObject({ errors: [{ code: 5006 }] });
		const large = await form("/tomarkdown", [["files", file("a.csv", "x".repeat(27_000_000))]]);
		expect(large.status).toBe(413);
		expect(await large.json()).toMatchObject({ errors: [{ code: 3006 }] });
	});

	it("lists the formats", async () => {
		expect(await (await get("/tomarkdown/supported")).json()).toEqual({
			result: ALL_FORMATS,
			success: true,
			errors: [],
			messages: [],
		});
	});

	it("answers other methods with 7001", async () => {
		expect(await (await get("/tomarkdown")).json()).toMatchObject({
			errors: [{ code: 7001, message: "GET not supported for requested URI." }],
		});
	});
});

describe("Markdown on the binding", () => {
	it("converts base64 files, and applies the conversion options", async () => {
		const response = await transform({
			files: [
				{ name: "a.csv", mimeType: "text/csv", data: btoa("a,b\n1,2\n") },
				{ name: "b.html", mimeType: "", data: btoa('<a href="/x">x</a>') },
				{ name: "c.html", mimeType: "", data: "!" },
			],
			options: {
				gateway: { id: "g" },
				extraHeaders: { a: "b" },
				conversionOptions: {
					html: { hostname: "https://a.b", images: { convert: true, maxConvertedImages: 2 } },
				},
			},
		});
		expect(response.status).toBe(200);
		expect(await response.json()).toEqual({
			success: true,
			result: [
				{
					id: expect.stringMatching(UUID),
					name: "a.csv",
					mimeType: "text/csv",
					format: "markdown",
					tokens: 14,
					data: "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
				},
				{
					id: expect.stringMatching(UUID),
					name: "b.html",
					mimeType: "text/html",
					format: "markdown",
					tokens: 9,
					data: "[x](https://a.b/x)\n",
				},
				{
					id: expect.stringMatching(UUID),
					name: "c.html",
					mimeType: "text/html",
					format: "error",
					error: "The file's data is not valid base64",
				},
			],
		});
	});

	it("takes a call without options, and one without files", async () => {
		const files = [{ name: "a.csv", mimeType: "", data: btoa("a\n") }];
		expect(await (await transform({ files })).json()).toMatchObject({
			result: [{ data: "| a |\n| --- |\n" }],
		});
		expect(await (await transform({ files, options: null })).json()).toMatchObject({ success: true });
		expect(await (await transform({ files: [] })).json()).toEqual({ success: true, result: [] });
	});

	it("accepts files above the limit of other JSON bodies", async () => {
		const response = await transform({
			files: [{ name: "a.key", mimeType: "", data: "AAAA".repeat(3_000_000) }],
		});
		expect(response.status).toBe(200);
		expect(await response.json()).toMatchObject({
			result: [{ format: "error", error: expect.stringMatching(/^Unsupported file format: \.key/) }],
		});
	});

	it.each([
		["a body that is not JSON", "{", 400, 5006],
		["no files", {}, 400, 5006],
		["a file without data", { files: [{ name: "a.csv", mimeType: "" }] }, 400, 5006],
		[
			"options of the wrong type",
			{ files: [], options: { conversionOptions: { output: { format: "pdf" } } } },
			400,
			5006,
		],
		["more than 25 MB", "x".repeat(27_000_000), 413, 3006],
	])("refuses %s in the envelope that the runtime's class reads", async (_, body, status, code) => {
		const response = await transform(body);
		expect(response.status).toBe(status);
		expect(await response.json()).toMatchObject({
			success: false,
			errors: [{ code, message: expect.stringMatching(/^AiError: /) }],
		});
	});

	it("lists the formats", async () => {
		const response = await wire.fetch(
			new Request("https://workers-binding.ai/to-everything/markdown/supported", {
				headers: { "content-type": "application/json" },
			}),
			{ caller: CALLER },
		);
		expect(await response.json()).toEqual({ success: true, result: ALL_FORMATS });
	});
});
