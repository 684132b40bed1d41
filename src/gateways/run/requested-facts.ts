/** What a request or a step names, for its log. A caller may send names of any length, and logs and metrics keep them. */
import type { GatewayFacts } from "../exchange.ts";

/** Characters. */
const MAX_PROVIDER = 128;
const MAX_MODEL = 1_024;

/** `model`: absent if none is named. */
export const requestedFacts = (
	provider: string,
	path: string,
	model: string | undefined,
): Pick<GatewayFacts, "provider" | "path" | "model"> => ({
	provider: provider.slice(0, MAX_PROVIDER),
	path,
	model: model?.slice(0, MAX_MODEL),
});
