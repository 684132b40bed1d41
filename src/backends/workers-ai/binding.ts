/**
 * An `Ai` binding as a `fetch`. The binding has its own wire format, which is internal to the runtime. With
 * `returnRawResponse` it returns the response unchanged, errors included.
 */
import type { AiBinding } from "../backend.ts";

const PREFIX = "/run/";

/** Accepts only the requests of `run.ts`. The address is a path. */
export function bindingFetch(binding: AiBinding): typeof fetch {
	return async (input, init) => {
		const { pathname, searchParams } = new URL(String(input), "https://binding");
		const model = decodeURIComponent(pathname.slice(PREFIX.length));
		const inputs = await inputsOf(init?.body, Object.fromEntries(searchParams));
		const options = { returnRawResponse: true, ...(init?.signal && { signal: init.signal }) };
		return binding.run(model, inputs, options);
	};
}

/** A file and a form are sent as streams. Their file names are lost: the wire format has no field for them. */
async function inputsOf(body: unknown, fields: Record<string, string>): Promise<Record<string, unknown>> {
	if (typeof body === "string") return JSON.parse(body) as Record<string, unknown>;
	if (body instanceof Blob) return { ...fields, audio: { body: body.stream(), contentType: body.type } };
	const form = new Response(body as FormData);
	return { ...fields, multipart: { body: form.body, contentType: form.headers.get("content-type") } };
}
