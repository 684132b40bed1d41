/** An error that is thrown over RPC. RPC keeps own properties but not the class. The cause is omitted: it may be secret. */
import type { AiError } from "../core/errors.ts";

export const toRpcError = ({ code, description, failure, message, name, status }: AiError): Error =>
	Object.assign(new Error(message), {
		name: failure.plane === "gateway" ? failure.name : name,
		internalCode: code,
		httpCode: status,
		description,
	});
