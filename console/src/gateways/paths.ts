import type { Api } from "../api/client.ts";

/** It exists without being created. */
export const DEFAULT_GATEWAY = "default";

export const gatewaysPath = (api: Api): string => api.account("/ai-gateway/gateways");

export const gatewayPath = (api: Api, id: string): string => `${gatewaysPath(api)}/${encodeURIComponent(id)}`;
