/** A failure with the fields that the method `run` of the runtime's `Ai` class reads, and those that its other methods read. */
interface BindingFailure {
	internalCode: number;
	httpCode: number;
	description: string;
}

export function bindingFailure({ internalCode, httpCode, description }: BindingFailure): Response {
	const body = {
		internalCode,
		name: "AiError",
		description,
		message: `AiError: ${description}`,
		httpCode,
		errors: [{ code: internalCode, message: description }],
		success: false,
	};
	// The class reads a body as JSON only with exactly this type.
	return new Response(JSON.stringify(body), {
		status: httpCode,
		headers: { "content-type": "application/json" },
	});
}
