/** The failure of a `run`, in the format that the runtime's class reads. */
import type { AiError } from "../../core/errors.ts";
import { failureHeaders } from "../../http/envelope.ts";
import { gatewayFailure } from "../gateway/gateway-failure.ts";

/** The failure of a `run`, in the format that the runtime's class reads. */
export const wireFailure = (error: AiError, requestId: string): Response =>
	failureResponse(error, requestId, {});

/** The same in a gateway: with the list `error` of AI Gateway's failures. */
export function gatewayRunFailure(error: AiError, requestId: string): Response {
	if (error.failure.plane === "gateway") return gatewayFailure(error, requestId);
	const { code, description } = error;
	return failureResponse(error, requestId, {
		success: false,
		result: [],
		messages: [],
		error: [{ code, message: description }],
	});
}

function failureResponse(error: AiError, requestId: string, fields: object): Response {
	const { code, description, failure, name, status } = error;
	const body = {
		...fields,
		internalCode: code,
		message: `${failure.name}: ${description}`,
		name,
		description,
		httpCode: status,
	};
	const headers = failureHeaders(error, requestId);
	headers.set("content-type", "application/json");
	return new Response(JSON.stringify(body), { status, headers });
}
