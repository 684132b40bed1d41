import { describe, expect, it } from "vitest";
import { formParts } from "../../../src/jobs/files/form-parts.ts";
import { release } from "../../../src/media/bytes.ts";

const TYPE = "multipart/form-data; boundary=XX";

/** The body in pieces of `size` bytes. */
function streamOf(text: string, size: number): ReadableStream<Uint8Array> {
	const bytes = new TextEncoder().encode(text);
	let at = 0;
	return new ReadableStream({
		pull(controller) {
			if (at >= bytes.length) return controller.close();
			controller.enqueue(bytes.slice(at, at + size));
			at += size;
		},
	});
}

async function read(text: string, { size = 7, type = TYPE } = {}) {
	const parts: object[] = [];
	for await (const { body, ...part } of formParts(streamOf(text, size), type))
		parts.push({ ...part, text: await new Response(body).text() });
	return parts;
}

const part = (headers: string, content: string): string => `--XX\r\n${headers}\r\n\r\n${content}\r\n`;
const FORM = `${part('Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\nContent-Type: text/plain', "one\r\n--X\r\ntwo")}${part('content-disposition: form-data; name="purpose"', "batch")}--XX--\r\n`;
const PARTS = [
	{
		name: "file",
		filename: "a.jsonl",
		path: "a.jsonl",
		contentType: "text/plain",
		text: "one\r\n--X\r\ntwo",
	},
	{ name: "purpose", text: "batch" },
];

describe("a form", () => {
	it.each([1, 2, 3, 5, 8, 13, 64, 4_096])("is read in pieces of %d bytes", async (size) => {
		expect(await read(FORM, { size })).toEqual(PARTS);
	});

	it("gives each piece a buffer of its own, which its reader may free", async () => {
		const content = "0123456789".repeat(2_000);
		const form = `${part('content-disposition: form-data; name="file"', content)}${part('content-disposition: form-data; name="purpose"', "batch")}--XX--`;
		const texts: string[] = [];
		for await (const { body } of formParts(streamOf(form, 700), TYPE)) {
			let text = "";
			for await (const piece of body) {
				text += new TextDecoder().decode(piece);
				release(piece);
			}
			texts.push(text);
		}
		expect(texts).toEqual([content, "batch"]);
	});

	it("may have a preamble, a quoted boundary and empty parts", async () => {
		const form = `Ignored\r\n${part('Content-Disposition: form-data; name="empty"', "")}--XX--`;
		expect(await read(form, { type: 'Multipart/Form-Data; charset=utf-8; boundary="XX"' })).toEqual([
			{ name: "empty", text: "" },
		]);
	});

	it.each([
		['filename="C:\\\\fakepath\\\\q1.jsonl"', "q1.jsonl", "C:\\fakepath\\q1.jsonl"],
		['filename="../../etc/passwd"', "passwd", "../../etc/passwd"],
		['filename="a%22b.jsonl"', 'a"b.jsonl'],
		['filename="a\\"b.jsonl"', 'a"b.jsonl'],
		["filename=plain.jsonl", "plain.jsonl"],
		["filename=\"x\"; filename*=UTF-8''%C3%A4.jsonl", "ä.jsonl"],
		['filename="ä.jsonl"', "ä.jsonl"],
	])("with %s names its file %s", async (header, filename, path = filename) => {
		const form = `${part(`Content-Disposition: form-data; name="file"; ${header}`, "x")}--XX--`;
		expect(await read(form)).toEqual([{ name: "file", filename, path, text: "x" }]);
	});

	it("is read on if a part is not read", async () => {
		const names: string[] = [];
		for await (const { name } of formParts(streamOf(FORM, 5), TYPE)) names.push(name);
		expect(names).toEqual(["file", "purpose"]);
	});

	it.each([
		["no end", FORM.slice(0, -8), TYPE],
		["no boundary in its type", FORM, "multipart/form-data"],
		["another type", FORM, "application/json; boundary=XX"],
		["no boundary in its body", "x".repeat(10_000), TYPE],
		["an endless header", `--XX\r\n${"a".repeat(40_000)}`, TYPE],
		["a part without a name", `${part("Content-Type: text/plain", "x")}--XX--`, TYPE],
	])("with %s is refused", async (_, text, type) => {
		await expect(read(text, { type, size: 1_000 })).rejects.toMatchObject({ code: 1001, status: 400 });
	});
});
