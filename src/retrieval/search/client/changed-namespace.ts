/** The changes of a namespace. */
import { type SentNamespaceEndpoint, storedEndpoint } from "../public-endpoint.ts";
import type { Publisher, SearchNamespace } from "../records.ts";

/** Fields of a namespace, as they are sent. */
export interface NamespaceChanges {
	description?: string | null | undefined;
	public_endpoint_params?: SentNamespaceEndpoint | null | undefined;
}

/** A field that is left out stays; `null` removes it. The endpoint is replaced whole, but keeps its id. Throws those of `storedEndpoint`. */
export function changedNamespace(
	before: SearchNamespace,
	{ description, public_endpoint_params: endpoint }: NamespaceChanges,
	{ publisher, uuid }: { publisher: Publisher; uuid(): string },
): SearchNamespace {
	const { description: described, endpoint: published, ...kept } = before;
	const text = description === undefined ? described : description;
	const next = endpoint === undefined ? published : endpoint && storedEndpoint(endpoint);
	return {
		...kept,
		...(text != null && { description: text }),
		...(next && { endpoint: next, endpointId: before.endpointId ?? uuid() }),
		...(endpoint?.enabled && { publisher }),
	};
}
