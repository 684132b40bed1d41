import type { Api } from "../api/client.ts";
import type { SearchInstance } from "../api/types.ts";

export const DEFAULT_NAMESPACE = "default";

/** The addresses of AI Search. */
export const instancesPath = (api: Api, namespace: string): string =>
	api.account(`/ai-search/namespaces/${encodeURIComponent(namespace)}/instances`);

export const instancePath = (api: Api, { id, namespace }: Pick<SearchInstance, "id" | "namespace">): string =>
	`${instancesPath(api, namespace)}/${encodeURIComponent(id)}`;
