/** Errors as they cross RPC: own properties do, a class does not, and a cause must not. */
import type { AiError } from "../core/errors.ts";

export const crossing = ({ code, description, failure, message, name, status }: AiError): Error =>
	Object.assign(new Error(message), {
		name: failure.plane === "gateway" ? failure.name : name,
		internalCode: code,
		httpCode: status,
		description,
	});
