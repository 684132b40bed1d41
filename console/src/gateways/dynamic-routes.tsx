import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { useLoad } from "../api/use-load.ts";
import type { Column } from "../parts/data-table.tsx";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { useSession } from "../session/session.ts";
import { ManagedRows } from "./managed-rows.tsx";
import { routeRows } from "./paths.ts";
import type { DynamicRouteRow } from "./records.ts";
import { RouteForm } from "./route-form.tsx";
import { RouteVersions } from "./route-versions.tsx";

/** The most routes that a gateway may have. */
const PER_PAGE = 100;

/** The dynamic routes of a gateway. `path`: of the routes. */
export function DynamicRoutes({ gateway, path }: { gateway: string; path: string }) {
	const { api } = useSession();
	/** The route whose versions are shown. */
	const [shownId, setShownId] = useState<string>();
	const routes = useLoad(
		(signal) => routeRows<DynamicRouteRow>(api, path, "routes", { per_page: PER_PAGE }, signal),
		[api, path],
	);
	const shown = routes.value?.find(({ id }) => id === shownId);
	return (
		<ManagedRows
			title="Dynamic routes"
			label="Routes"
			noun="route"
			path={path}
			rows={routes}
			columns={COLUMNS}
			idOf={({ id }) => id}
			nameOf={({ name }) => name}
			empty="No dynamic routes. A dynamic route chooses the model of each request, by conditions, shares, rates and costs."
			deletion="All its versions are deleted. Requests that name it are refused within five seconds."
			actions={({ id, name }) => (
				<Button size="sm" aria-label={`Versions of the route ${name}`} onClick={() => setShownId(id)}>
					Versions
				</Button>
			)}
			form={({ row, onSaved, onCancel }) => (
				<RouteForm
					route={row}
					gateway={gateway}
					path={path}
					onStored={routes.reload}
					onDeployed={onSaved}
					onCancel={onCancel}
				/>
			)}
		>
			{shown && (
				<InView key={shown.id}>
					<RouteVersions
						route={shown}
						path={`${path}/${shown.id}`}
						onDeployed={routes.reload}
						onClose={() => setShownId(undefined)}
					/>
				</InView>
			)}
		</ManagedRows>
	);
}

const COLUMNS: readonly Column<DynamicRouteRow>[] = [
	{ title: "Model in requests", cell: ({ name }) => <code>{`dynamic/${name}`}</code> },
	{
		title: "Elements of the latest version",
		cell: ({ elements }) => elements.map(({ type }) => type).join(", "),
	},
	{
		title: "State",
		cell: ({ deployment, version }) => {
			if (!deployment) return <Badge variant="warning">not deployed</Badge>;
			const isLatest = deployment.version_id === version.version_id;
			return (
				<Badge variant={isLatest ? "success" : "info"}>{isLatest ? "deployed" : "an older version"}</Badge>
			);
		},
	},
	{ title: "Changed", cell: ({ modified_at }) => instant(modified_at) },
];
