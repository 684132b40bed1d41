/** Errors as they cross RPC: own properties do, a class does not, and a cause must not. */
import type { AiError } from "../errors.ts";

export const crossing = ({ code, description, message, name, status }: AiError): Error =>
	Object.assign(new Error(message), { name, internalCode: code, httpCode: status, description });
