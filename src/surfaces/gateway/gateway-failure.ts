import type { AiError } from "../../core/errors.ts";
import { failureEnvelope, failureHeaders } from "../../http/envelope.ts";
import type { FailureFormat } from "../../http/failure-formats.ts";

/** The format of AI Gateway's own failures. The list is named `error`, and the fields of its one error are repeated outside it. */
export function gatewayFailure(error: AiError, requestId?: string): Response {
	const { code, description, status } = error;
	return Response.json(
		{
			success: false,
			result: [],
			messages: [],
			error: [{ code, message: description }],
			name: "AiGatewayError",
			httpCode: status,
			internalCode: code,
			message: description,
			description,
		},
		{ status, headers: failureHeaders(error, requestId) },
	);
}

/** The v4 envelope, and AI Gateway's format for its own failures. */
export const gatewayPlaneFailure: FailureFormat = (error, requestId) =>
	error.failure.plane === "gateway" ? gatewayFailure(error, requestId) : failureEnvelope(error, requestId);
