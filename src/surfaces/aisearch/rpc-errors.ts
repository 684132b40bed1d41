/** The errors of AI Search's bindings: their name follows the status, and their message is the text of the failure. */
import { type AiError, toAiError } from "../../core/errors.ts";
import type { AppServices } from "../services.ts";

function bindingError({ code, description, status }: AiError): Error {
	const name =
		status === 404 ? "AiSearchNotFoundError" : status >= 500 ? "AiSearchInternalError" : "AiSearchError";
	return Object.assign(new Error(description), { name, code, httpCode: status });
}

/** Runs a method of a binding. Throws the errors of the binding. */
export async function answering<Value>(
	method: () => Promise<Value>,
	{ log }: Pick<AppServices, "log">,
): Promise<Value> {
	try {
		return await method();
	} catch (thrown) {
		const error = toAiError(thrown);
		log(error, "");
		throw bindingError(error);
	}
}
