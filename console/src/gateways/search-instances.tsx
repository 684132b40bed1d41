import { Link } from "react-router";
import type { Api } from "../api/client.ts";
import type { SearchInstance, SearchNamespace } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { instancesPath } from "../search/paths.ts";
import { useSession } from "../session/session.ts";
import { DEFAULT_GATEWAY } from "./paths.ts";

const PER_PAGE = 50;

interface Route {
	/** The id of its gateway. */
	gateway: string;
	/** As requests name it: `dynamic/…`. */
	model: string;
}

/** Names the instances of AI Search whose models are a dynamic route: a new name of the route does not change them. */
export function SearchInstances({ gateway, model }: Route) {
	const { api } = useSession();
	const { error, value = [] } = useLoad(
		(signal) => instancesWith({ gateway, model }, api, signal),
		[api, gateway, model],
	);
	if (error)
		return (
			<p className="subtle">
				The instances of AI Search that use {model} cannot be listed: {error.message}
			</p>
		);
	if (value.length === 0) return null;
	return (
		<div role="status">
			<p>Instances of AI Search use {model}, and fail after the change until they name another model:</p>
			<ul className="plain">
				{value.map(({ id, namespace }) => (
					<li key={`${namespace}/${id}`}>
						<Link to={`/search?${new URLSearchParams({ namespace, instance: id })}`}>{id}</Link>
					</li>
				))}
			</ul>
		</div>
	);
}

async function instancesWith(route: Route, api: Api, signal: AbortSignal): Promise<SearchInstance[]> {
	const namespaces = await allRows<SearchNamespace>(api.account("/ai-search/namespaces"), api, signal);
	const lists = await Promise.all(
		namespaces.map(({ name }) => allRows<SearchInstance>(instancesPath(api, name), api, signal)),
	);
	return lists.flat().filter((instance) => uses(instance, route));
}

const uses = (instance: SearchInstance, { gateway, model }: Route): boolean =>
	(instance.ai_gateway_id ?? DEFAULT_GATEWAY) === gateway &&
	[
		instance.embedding_model,
		instance.ai_search_model,
		instance.rewrite_model,
		instance.reranking_model,
	].includes(model);

/** Of all pages. */
async function allRows<Row>(path: string, api: Api, signal: AbortSignal): Promise<Row[]> {
	const rows: Row[] = [];
	for (let page = 1; ; page++) {
		const { result, info } = await api.get<Row[]>(path, { page, per_page: PER_PAGE }, signal);
		rows.push(...result);
		if (result.length === 0 || rows.length >= (info.total_count ?? 0)) return rows;
	}
}
