import { Link } from "react-router";
import { MODEL_FIELDS } from "../../../src/retrieval/search/model-fields.ts";
import { allRows } from "../api/all-rows.ts";
import { type Api, ApiError } from "../api/client.ts";
import type { SearchInstance, SearchNamespace } from "../api/types.ts";
import { type Loaded, useLoad } from "../api/use-load.ts";
import { instancesPath } from "../search/paths.ts";
import { useSession } from "../session/session.ts";
import { DEFAULT_GATEWAY } from "./paths.ts";

/** An account has at most 5,000 instances, and 100 namespaces. */
const MAX_PAGES = 100;
/** The token does not have the permission. */
const FORBIDDEN = 10000;

interface Route {
	/** The id of its gateway. */
	gateway: string;
	/** As requests name it: `dynamic/…`. */
	model: string;
}

/** The instances of AI Search whose models are a dynamic route: a new name of the route does not change them. Without a route: none. */
export function useSearchInstances(route: Route | undefined): Loaded<SearchInstance[]> {
	const { api } = useSession();
	return useLoad(
		async (signal) => (route ? instancesWith(route, api, signal) : []),
		[api, route?.gateway, route?.model],
	);
}

interface Props {
	instances: Loaded<SearchInstance[]>;
	/** The route after the change, as requests name it. */
	model: string;
}

/** Names the instances that fail after the rename. */
export function SearchInstances({ instances: { error, state, value = [] }, model }: Props) {
	if (error)
		return (
			<p className="subtle">The instances of AI Search that use the route are not shown. {reasonOf(error)}</p>
		);
	if (state === "loading")
		return (
			<p className="subtle" role="status">
				Looking for instances of AI Search …
			</p>
		);
	if (value.length === 0) return null;
	return (
		<div role="status">
			<p>
				These instances of AI Search fail after the rename. Set their model to <code>{model}</code>:
			</p>
			<ul className="plain">
				{value.map(({ id, namespace }) => (
					<li key={`${namespace}/${id}`}>
						<Link to={`/search?${new URLSearchParams({ namespace, instance: id })}`}>
							{namespace}/{id}
						</Link>
					</li>
				))}
			</ul>
		</div>
	);
}

const reasonOf = (error: Error): string =>
	error instanceof ApiError && error.code === FORBIDDEN ? 'Needs "AI Search Read".' : error.message;

async function instancesWith(route: Route, api: Api, signal: AbortSignal): Promise<SearchInstance[]> {
	const list = <Row,>(path: string) => allRows<Row>(api, { path, maxPages: MAX_PAGES }, signal);
	const namespaces = await list<SearchNamespace>(api.account("/ai-search/namespaces"));
	const lists = await Promise.all(
		namespaces.map(({ name }) => list<SearchInstance>(instancesPath(api, name))),
	);
	return lists.flat().filter((instance) => uses(instance, route));
}

const uses = (instance: SearchInstance, { gateway, model }: Route): boolean =>
	(instance.ai_gateway_id ?? DEFAULT_GATEWAY) === gateway &&
	MODEL_FIELDS.some((field) => instance[field] === model);
