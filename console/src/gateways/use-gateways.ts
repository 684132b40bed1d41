import type { GatewaySettings } from "../../../src/gateways/settings.ts";
import { useLoad } from "../api/use-load.ts";
import { useSession } from "../session/session.ts";
import { gatewaysPath } from "./paths.ts";

const PER_PAGE = 100;

/** All gateways of the account. It may have one more than a page. */
export function useGateways() {
	const { api } = useSession();
	return useLoad(
		async (signal) => {
			const all: GatewaySettings[] = [];
			for (let page = 1; ; page++) {
				const query = { page, per_page: PER_PAGE };
				const { result } = await api.get<GatewaySettings[]>(gatewaysPath(api), query, signal);
				all.push(...result);
				if (result.length < PER_PAGE) return all;
			}
		},
		[api],
	);
}
