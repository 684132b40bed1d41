import { AiError } from "../../core/errors.ts";
import { objectUnavailable } from "../../core/object-failure.ts";

/** The result of a call of an object of gateways. Throws 7009 if the object cannot be called. */
export async function callObject<T>(call: () => Promise<T>): Promise<T> {
	try {
		return await call();
	} catch (cause) {
		throw cause instanceof AiError ? cause : objectUnavailable(cause);
	}
}
