import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { bodyOf } from "../api/client.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";
import { Confirm } from "../tokens/confirm.tsx";
import { Notes } from "./notes.tsx";
import type { DynamicRouteRow } from "./records.ts";
import { RouteForm } from "./route-form.tsx";

/** The dynamic routes of a gateway. `path`: of the routes. */
export function DynamicRoutes({ path }: { path: string }) {
	const { api } = useSession();
	const [form, setForm] = useState<{ route?: DynamicRouteRow }>();
	const [notes, setNotes] = useState<readonly string[]>([]);
	const newRoute = useRef<HTMLButtonElement>(null);
	const routes = useLoad(
		async (signal) => {
			// This list has an envelope of its own.
			const response = await api.fetch(`${path}?per_page=100`, { signal });
			const { data }: { data: { routes: DynamicRouteRow[] } } = await bodyOf(response.json());
			return data.routes;
		},
		[api, path],
	);
	const removal = useRemoval<DynamicRouteRow>(async ({ id }) => {
		await api.send("DELETE", `${path}/${id}`);
		// The row of the route disappears with its button.
		newRoute.current?.focus();
		routes.reload();
	});
	const columns: Column<DynamicRouteRow>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (route) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Edit the route ${route.name}`} onClick={() => setForm({ route })}>
						Edit
					</Button>
					<Button
						size="sm"
						variant="secondary-destructive"
						aria-label={`Delete the route ${route.name}`}
						onClick={() => removal.ask(route)}
					>
						Delete
					</Button>
				</div>
			),
		},
	];
	return (
		<Section
			title="Dynamic routes"
			actions={
				<Button ref={newRoute} size="sm" onClick={() => setForm({})}>
					New route
				</Button>
			}
		>
			{removal.error && <Failure error={removal.error} />}
			<Notes title="Notes on the route" notes={notes} />
			{form && (
				<InView key={form.route?.id ?? ""}>
					<RouteForm
						route={form.route}
						path={path}
						onStored={routes.reload}
						onDeployed={(newNotes) => {
							setForm(undefined);
							setNotes(newNotes);
							routes.reload();
						}}
						onCancel={() => setForm(undefined)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete the route ${removal.row.name}?`}
					text="All its versions are deleted. Requests that name it are refused from now on."
					button="Delete the route"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={routes}>
				{(rows) => (
					<DataTable
						label="Routes"
						columns={columns}
						rows={rows}
						rowKey={({ id }) => id}
						empty="No dynamic routes. A dynamic route chooses the model of each request, by conditions, shares, rates and costs."
					/>
				)}
			</Loading>
		</Section>
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
