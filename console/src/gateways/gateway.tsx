import { Link } from "react-router";
import { useLoad } from "../api/use-load.ts";
import { Code } from "../parts/code.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { CacheButton } from "./cache-button.tsx";
import { DynamicRoutes } from "./dynamic-routes.tsx";
import { type LogFilters, Logs } from "./logs.tsx";
import { gatewayPath } from "./paths.ts";
import { ProviderKeys } from "./provider-keys.tsx";

interface Props {
	id: string;
	filters: LogFilters;
	onFilter(changes: Partial<LogFilters>): void;
}

/** One gateway: how to call it, its cache, its dynamic routes, its keys of providers, its logs. */
export function GatewayPart({ id, filters, onFilter }: Props) {
	const { api } = useSession();
	const path = gatewayPath(api, id);
	const address = useLoad(
		async (signal) => (await api.get<string>(`${path}/url/compat`, {}, signal)).result,
		[api, path],
	);
	return (
		<div className="stack">
			<Section title={id} actions={<Link to={`/replays?gateway=${encodeURIComponent(id)}`}>Replays</Link>}>
				<Loading of={address}>
					{(url) => (
						<>
							<h3>Base URL for the OpenAI SDK</h3>
							<Code label="Base URL" text={url} />
							<h3>Header of requests to Workers AI</h3>
							<Code label="Header" text={`cf-aig-gateway-id: ${id}`} />
						</>
					)}
				</Loading>
				<CacheButton path={path} />
			</Section>
			<DynamicRoutes path={`${path}/routes`} />
			<ProviderKeys path={`${path}/provider_configs`} />
			<Logs path={`${path}/logs`} filters={filters} onFilter={onFilter} />
		</div>
	);
}
