/** A failure with the fields that the method `run` of the runtime's `Ai` class reads, and those that its other methods read. */
import type { AiError } from "../src/core/errors.ts";

export function bindingFailure({ code, description, name, status }: AiError): Response {
	const body = {
		internalCode: code,
		name,
		description,
		message: `${name}: ${description}`,
		httpCode: status,
		errors: [{ code, message: description }],
		success: false,
	};
	// The class reads a body as JSON only with exactly this type.
	return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}
