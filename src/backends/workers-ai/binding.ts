/**
 * An `Ai` binding as a `fetch`. The binding makes its own requests, of a wire that is the runtime's own business; what
 * it gives back with `returnRawResponse` is the answer as it came, refusals included.
 */
import type { AiBinding } from "../backend.ts";

const PREFIX = "/run/";

/** Takes what `run.ts` asks for, and nothing else: the address is the path alone. */
export function bindingFetch(binding: AiBinding): typeof fetch {
	return async (input, init) => {
		const { pathname, searchParams } = new URL(String(input), "https://binding");
		const model = decodeURIComponent(pathname.slice(PREFIX.length));
		const inputs = await inputsOf(init?.body, Object.fromEntries(searchParams));
		const options = { returnRawResponse: true, ...(init?.signal && { signal: init.signal }) };
		return binding.run(model, inputs, options);
	};
}

/** A file and a form travel as streams, whatever their names: the wire does not send those. */
async function inputsOf(body: unknown, fields: Record<string, string>): Promise<Record<string, unknown>> {
	if (typeof body === "string") return JSON.parse(body) as Record<string, unknown>;
	if (body instanceof Blob) return { ...fields, audio: { body: body.stream(), contentType: body.type } };
	const form = new Response(body as FormData);
	return { ...fields, multipart: { body: form.body, contentType: form.headers.get("content-type") } };
}
