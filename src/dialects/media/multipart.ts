/** `multipart/form-data` bodies, read before validation so that readers stay synchronous. */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Media } from "../../media/media.ts";

type Bytes = Media["bytes"];

export type FormPart = { name: string } & (
	| { value: string }
	| { bytes: Bytes; contentType: string; filename: string }
);

/** A class, so that no JSON body can pass for a form. */
export class MultipartForm {
	/** In the order sent; a name may come more than once. */
	readonly parts: readonly FormPart[];

	constructor(parts: readonly FormPart[]) {
		this.parts = parts;
	}

	/** Text of the first part of that name; `undefined` when there is none, or it is a file. */
	text(name: string): string | undefined {
		return this.texts(name)[0];
	}

	texts(name: string): string[] {
		return this.parts.flatMap((part) => (part.name === name && "value" in part ? [part.value] : []));
	}

	/** The first part of that name as bytes; a part without a file name counts as the text that it is. */
	file(name: string): { bytes: Bytes; contentType: string } | undefined {
		const part = this.parts.find((each) => each.name === name);
		if (!part) return undefined;
		if ("bytes" in part) return part;
		return { bytes: new Uint8Array(new TextEncoder().encode(part.value)), contentType: "text/plain" };
	}
}

export interface WrappedForm {
	body: MultipartForm;
	contentType: string;
}

/** The input that a form stands for: `{body: <the form>, contentType}`. */
export const FormBody = z
	.custom<WrappedForm>()
	.check((context) => {
		const { value } = context;
		if (typeof value !== "object" || value === null)
			context.issues.push({ code: "invalid_type", expected: "object", input: value });
		else if (!(value.body instanceof MultipartForm))
			for (const property of ["body", "contentType"])
				context.issues.push({ code: "invalid_type", expected: "object", input: undefined, path: [property] });
	})
	.meta({
		type: "object",
		properties: { body: { type: "object" }, contentType: { type: "string" } },
		required: ["body", "contentType"],
	});

/** RFC 2046, section 5.1.1 */
const BOUNDARY = /^[\w'()+,./:=? -]{1,70}$/;
const BOUNDARY_PARAMETER = /;\s*boundary=(?:"([^"]*)"|([^\s;]*))/i;
/** The runtime needs 15 microseconds for each part, an empty one included. */
const MAX_PARTS = 500;

/**
 * Reads a form. The binding's `FormData` inputs come with a bare `multipart/form-data`, for which the boundary is
 * taken from the body's first line. Throws 5006.
 */
export async function parseMultipart(bytes: Bytes, contentType: string): Promise<MultipartForm> {
	if (!/^multipart\/form-data/i.test(contentType))
		throw new AiError("badInput", "Error: a multipart/form-data body is expected");
	const parameter = BOUNDARY_PARAMETER.exec(contentType);
	const boundary = parameter ? (parameter[1] ?? parameter[2] ?? "") : firstBoundary(bytes);
	if (!BOUNDARY.test(boundary)) throw malformed();
	refuseManyParts(bytes, boundary);
	let form: FormData;
	try {
		const type = `multipart/form-data; boundary="${boundary}"`;
		form = await new Response(bytes, { headers: { "content-type": type } }).formData();
	} catch (cause) {
		throw malformed(cause);
	}
	return new MultipartForm(await Promise.all([...form].map(([name, value]) => partOf(name, value))));
}

async function partOf(name: string, value: string | File): Promise<FormPart> {
	if (typeof value === "string") return { name, value };
	const bytes = new Uint8Array(await value.arrayBuffer());
	return { name, bytes, contentType: value.type, filename: value.name };
}

function firstBoundary(bytes: Bytes): string {
	const line = new TextDecoder().decode(bytes.subarray(0, 128)).trimStart().split(/\r?\n/, 1)[0] ?? "";
	return line.startsWith("--") ? line.slice(2).trimEnd() : "";
}

/** Before the form is parsed. A boundary inside a file counts, too: then the form is malformed anyway. */
function refuseManyParts(bytes: Bytes, boundary: string): void {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const delimiter = Buffer.from(`--${boundary}`);
	let at = buffer.indexOf(delimiter);
	// The last delimiter ends the form.
	for (let found = 0; at >= 0; found++) {
		if (found > MAX_PARTS)
			throw new AiError("badInput", `Error: the multipart/form-data body has more than ${MAX_PARTS} parts`);
		at = buffer.indexOf(delimiter, at + delimiter.length);
	}
}

const malformed = (cause?: unknown): AiError =>
	new AiError("badInput", "Error: the multipart/form-data body cannot be read", { cause });

export const formText = (form: MultipartForm, name: string): string | undefined => form.text(name);
