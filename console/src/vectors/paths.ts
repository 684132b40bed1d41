import type { Api } from "../api/client.ts";

export const indexesPath = (api: Api): string => api.account("/vectorize/v2/indexes");

export const indexPath = (api: Api, name: string): string =>
	`${indexesPath(api)}/${encodeURIComponent(name)}`;
