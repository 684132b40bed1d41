/** Reads a short text, such as the load of an engine or a list of replicas. Redirects are refused, as for calls of models. */
import { shortCall } from "../../outbound/short-call.ts";

export interface TextRequest {
	url: string;
	headers: Record<string, string>;
	/** The secret of the backend. */
	key?: string | undefined;
	fetch: typeof fetch;
}

const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1024 * 1024;

/** Returns nothing if the status is not 2xx or the text is too long. Throws if the server cannot be reached in time. */
export async function getText({ url, headers, key, fetch }: TextRequest): Promise<string | undefined> {
	const { text } = await shortCall({
		fetch,
		url,
		headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
		timeoutMs: TIMEOUT_MS,
		maxBytes: MAX_BYTES,
	});
	return text;
}
