import type { Api } from "../api/client.ts";
import type { ModelRow } from "../api/types.ts";
import { type Loaded, useLoad } from "../api/use-load.ts";
import { useSession } from "../session/session.ts";

const PER_PAGE = 1_000;

/** One catalogue for each session: it changes only with a deployment. */
const catalogs = new WeakMap<Api, Promise<ModelRow[]>>();

function loadCatalog(api: Api): Promise<ModelRow[]> {
	const loading =
		catalogs.get(api) ??
		api
			.get<ModelRow[]>(api.account("/ai/models/search"), { per_page: PER_PAGE })
			.then(({ result }) => result)
			.catch((error: unknown) => {
				catalogs.delete(api);
				throw error;
			});
	catalogs.set(api, loading);
	return loading;
}

export function useCatalog(): Loaded<ModelRow[]> {
	const { api } = useSession();
	return useLoad(() => loadCatalog(api), [api]);
}
