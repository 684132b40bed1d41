/** Reads a short text, such as the load of an engine or a list of replicas. Redirects are refused, as for calls of models. */
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { shortCall } from "../../outbound/short-call.ts";

export interface TextRequest {
	url: string;
	headers: Record<string, string>;
	/** The secret of the backend. */
	key?: string | undefined;
	fetch: typeof fetch;
}

/** Returns nothing if the status is not 2xx or the text is too long. Throws if the server cannot be reached in time. */
export async function getText({ url, headers, key, fetch }: TextRequest): Promise<string | undefined> {
	const { text } = await shortCall({
		fetch,
		url,
		headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
		...SHORT_CALLS.poll,
	});
	return text;
}
