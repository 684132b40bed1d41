import { Button } from "@cloudflare/kumo/components/button";
import { Link } from "react-router";
import { useLoad } from "../api/use-load.ts";
import { Code } from "../parts/code.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { Aliases } from "./aliases.tsx";
import { CacheButton } from "./cache-button.tsx";
import { DynamicRoutes } from "./dynamic-routes.tsx";
import { type LogFilters, Logs } from "./logs.tsx";
import { gatewayPath } from "./paths.ts";
import { ProviderKeys } from "./provider-keys.tsx";

interface Props {
	id: string;
	/** `npm run dev` also serves gateways that were not created, with default settings. */
	isCreated: boolean;
	onCreate(): void;
	filters: LogFilters;
	onFilter(changes: Partial<LogFilters>): void;
}

/** One gateway: how to call it, its cache, its aliases, its dynamic routes, its keys of providers, its logs. */
export function GatewayPart({ id, isCreated, onCreate, filters, onFilter }: Props) {
	const { api } = useSession();
	const path = gatewayPath(api, id);
	const address = useLoad(
		async (signal) => (await api.get<string>(`${path}/url/compat`, {}, signal)).result,
		[api, path],
	);
	// Of a gateway that does not exist, this is the only failure.
	return (
		<Loading of={address}>
			{(url) => (
				<>
					<Section
						title={id}
						actions={<Link to={`/replays?gateway=${encodeURIComponent(id)}`}>Replays</Link>}
					>
						{!isCreated && (
							<div className="buttons">
								<p className="plain">
									This gateway was not created. It has default settings here. Elsewhere its requests are
									refused.
								</p>
								<Button size="sm" onClick={onCreate}>
									Create it
								</Button>
							</div>
						)}
						<h3>Base URL for the OpenAI SDK</h3>
						<Code label="Base URL" text={url} />
						<p className="subtle">
							A token of this account is the API key. Models have their provider in front: workers-ai/@cf/…,
							openai/…, custom-…/…, custom/…, dynamic/….
						</p>
						<h3>Header of requests to Workers AI</h3>
						<Code label="Header" text={`cf-aig-gateway-id: ${id}`} />
						<CacheButton path={path} />
					</Section>
					<Aliases path={`${path}/aliases`} />
					<DynamicRoutes gateway={id} path={`${path}/routes`} />
					<ProviderKeys path={`${path}/provider_configs`} />
					<Logs path={`${path}/logs`} filters={filters} onFilter={onFilter} />
				</>
			)}
		</Loading>
	);
}
