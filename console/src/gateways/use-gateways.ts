import { ALL_GATEWAYS } from "../../../src/gateways/gateway-bounds.ts";
import type { GatewaySettings } from "../../../src/gateways/settings.ts";
import { useLoad } from "../api/use-load.ts";
import { useSession } from "../session/session.ts";
import { gatewaysPath } from "./paths.ts";

/** All gateways of the account. */
export function useGateways() {
	const { api } = useSession();
	return useLoad(
		async (signal) =>
			(await api.get<GatewaySettings[]>(gatewaysPath(api), { per_page: ALL_GATEWAYS }, signal)).result,
		[api],
	);
}
