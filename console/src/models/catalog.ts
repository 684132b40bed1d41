import { type Api, answerOf } from "../api/client.ts";
import type { CatalogRow, ModelRow } from "../api/types.ts";
import { type Loaded, useLoad } from "../api/use-load.ts";
import { useSession } from "../session/session.ts";

const PER_PAGE = 1_000;

/** One catalogue for each session: it changes only with a deployment. */
const catalogs = new WeakMap<Api, Promise<CatalogRow[]>>();

/** The list of OpenAI's API has only models that something serves. */
async function servedNames(api: Api): Promise<Set<string>> {
	const response = await api.fetch(api.account("/ai/v1/models"));
	const { data } = await answerOf<{ data: { id: string }[] }>(response, "data");
	return new Set(data.map(({ id }) => id));
}

/** Served models come first. */
async function loadRows(api: Api): Promise<CatalogRow[]> {
	const [{ result }, served] = await Promise.all([
		api.get<ModelRow[]>(api.account("/ai/models/search"), { per_page: PER_PAGE }),
		servedNames(api),
	]);
	const rows = result.map((row) => ({ ...row, served: served.has(row.name) }));
	return rows.sort((a, b) => Number(b.served) - Number(a.served));
}

function loadCatalog(api: Api): Promise<CatalogRow[]> {
	const loading =
		catalogs.get(api) ??
		loadRows(api).catch((error: unknown) => {
			catalogs.delete(api);
			throw error;
		});
	catalogs.set(api, loading);
	return loading;
}

export function useCatalog(): Loaded<CatalogRow[]> {
	const { api } = useSession();
	return useLoad(() => loadCatalog(api), [api]);
}
