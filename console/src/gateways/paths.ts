import { type Api, answerOf, type Query, withQuery } from "../api/client.ts";

/** It exists without being created. */
export const DEFAULT_GATEWAY = "default";

export const gatewaysPath = (api: Api): string => api.account("/ai-gateway/gateways");

export const gatewayPath = (api: Api, id: string): string => `${gatewaysPath(api)}/${encodeURIComponent(id)}`;

/** Dynamic routes, their versions or their deployments: these lists have an envelope of their own. */
export async function routeRows<Row>(
	api: Api,
	path: string,
	name: "routes" | "versions" | "deployments",
	query: Query,
	signal: AbortSignal,
): Promise<Row[]> {
	const response = await api.fetch(withQuery(path, query), { signal });
	const { data } = await answerOf<{ data: Record<string, Row[]> }>(response, "data");
	return data[name] ?? [];
}
