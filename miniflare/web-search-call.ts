/** `websearch`, which the runtime's `Ai` class calls over RPC, as a request. It is used in the runtime and in Node. */

export const WIRE = "https://workers-binding.ai";

/** The argument of `websearch`. The gateway checks the other fields. */
export interface WebSearchRequest {
	gatewayId: string;
	[field: string]: unknown;
}

export interface WireParams {
	extraHeaders?: Record<string, string>;
}

/** The arguments of `fetch`. */
export function webSearchCall(
	{ gatewayId, ...fields }: WebSearchRequest,
	{ extraHeaders }: WireParams = {},
): [url: string, init: { method: string; headers: Record<string, string>; body: string }] {
	const headers = { ...extraHeaders, "content-type": "application/json" };
	const body = JSON.stringify({ ...fields, options: { gateway: { id: gatewayId } } });
	return [`${WIRE}/websearch`, { method: "POST", headers, body }];
}
