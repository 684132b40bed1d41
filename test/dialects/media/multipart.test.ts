import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { FormBody, parseMultipart } from "../../../src/dialects/media/multipart.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import { png } from "../samples.ts";

async function sent(form: FormData): Promise<[bytes: Uint8Array<ArrayBuffer>, contentType: string]> {
	const response = new Response(form);
	const contentType = response.headers.get("content-type") ?? "";
	return [new Uint8Array(await response.arrayBuffer()), contentType];
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));

describe("parseMultipart", () => {
	it("returns texts and files in order, including repeated names", async () => {
		const image = png(4, 4);
		const form = new FormData();
		form.append("prompt", "ein Füchschen");
		form.append("tag[]", "a");
		form.append("tag[]", "b");
		form.append("input_image_0", new File([image], "fox.png", { type: "image/png" }));
		const parsed = await parseMultipart(...(await sent(form)));
		expect(parsed.parts).toEqual([
			{ name: "prompt", value: "ein Füchschen" },
			{ name: "tag[]", value: "a" },
			{ name: "tag[]", value: "b" },
			{ name: "input_image_0", bytes: image, contentType: "image/png", filename: "fox.png" },
		]);
		expect(parsed.text("prompt")).toBe("ein Füchschen");
		expect(parsed.texts("tag[]")).toEqual(["a", "b"]);
		expect(parsed.file("input_image_0")).toMatchObject({ bytes: image });
		expect(parsed.text("input_image_0")).toBeUndefined();
		expect(parsed.text("model")).toBeUndefined();
		expect(parsed.file("mask")).toBeUndefined();
	});

	it("reads the boundary from the body if the header has none, as for the binding's forms", async () => {
		const form = new FormData();
		form.append("prompt", "a fox");
		const [bytes] = await sent(form);
		for (const type of ["multipart/form-data", "multipart/form-data; charset=utf-8"])
			expect((await parseMultipart(bytes, type)).text("prompt")).toBe("a fox");
	});

	it("reads any bytes, with or without a boundary", async () => {
		await fc.assert(
			fc.asyncProperty(fc.uint8Array(), fc.boolean(), async (content, bare) => {
				const form = new FormData();
				form.append("file", new File([content], "f"));
				const [bytes, type] = await sent(form);
				const parsed = await parseMultipart(bytes, bare ? "multipart/form-data" : type);
				expect([...(parsed.file("file")?.bytes ?? [])]).toEqual([...content]);
			}),
			{ numRuns: 50 },
		);
	});

	it.each([
		["nothing", "", "multipart/form-data"],
		["no boundary anywhere", "{}", "multipart/form-data"],
		["another boundary", "--a\r\n\r\n", "multipart/form-data; boundary=b"],
		[
			"a truncated form",
			'--a\r\nContent-Disposition: form-data; name="x"',
			"multipart/form-data; boundary=a",
		],
		["a quote in the boundary", '--a"b\r\n', "multipart/form-data"],
	])("refuses %s", async (_what, body, type) => {
		await expect(parseMultipart(encode(body), type)).rejects.toThrow(
			"5006: Error: the multipart/form-data body cannot be read",
		);
	});

	it("accepts 500 parts and refuses more before parsing", async () => {
		const form = (parts: number): [Uint8Array<ArrayBuffer>, string] => [
			encode(`${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(parts)}--b--\r\n`),
			"multipart/form-data; boundary=b",
		];
		expect((await parseMultipart(...form(500))).parts).toHaveLength(500);
		await expect(parseMultipart(...form(501))).rejects.toThrow(
			"5006: Error: the multipart/form-data body has more than 500 parts",
		);
	});

	it("refuses other content types", async () => {
		await expect(parseMultipart(encode("{}"), "application/json")).rejects.toThrow(
			"5006: Error: a multipart/form-data body is expected",
		);
	});
});

describe("FormBody", () => {
	const Inputs = z.object({ multipart: FormBody });

	it("is missing in a JSON body", () => {
		expect(() => validate(Inputs, { prompt: "a fox" })).toThrow(
			"5006: Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		);
		expect(() =>
			validate(Inputs, {
				multipart: { body: [{ name: "prompt", value: "x" }], contentType: "multipart/form-data" },
			}),
		).toThrow("5006: Error: required properties at '/multipart' are 'body,contentType'");
		expect(() => validate(Inputs, { multipart: "x" })).toThrow(
			"5006: Error: Type mismatch of '/multipart', 'object' not in 'string'",
		);
	});
});
