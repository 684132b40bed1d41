import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import { useLoad } from "../api/use-load.ts";
import { Code } from "../parts/code.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { useSession } from "../session/session.ts";
import { routeRows } from "./paths.ts";
import type { DynamicRouteRow, RouteDeploymentRow, RouteVersionRow } from "./records.ts";

interface Props {
	route: DynamicRouteRow;
	/** The path of the route. */
	path: string;
	onDeployed(): void;
	onClose(): void;
}

const PER_PAGE = 20;

/** The versions and the deployments of a route, the latest first. A version can be shown, and deployed again. */
export function RouteVersions({ route, path, onDeployed, onClose }: Props) {
	const { api } = useSession();
	const [page, setPage] = useState(1);
	const [selected, setSelected] = useState<RouteVersionRow>();
	const [confirming, setConfirming] = useState<RouteVersionRow>();
	const [error, setError] = useState<Error>();
	const list = useRef<HTMLDivElement>(null);
	const model = `dynamic/${route.name}`;
	// A version that is stored or deployed changes the route.
	const versions = useLoad(
		(signal) =>
			routeRows<RouteVersionRow>(api, `${path}/versions`, "versions", { page, per_page: PER_PAGE }, signal),
		[api, path, page, route.modified_at],
	);
	async function deploy({ version_id }: RouteVersionRow): Promise<void> {
		setConfirming(undefined);
		setError(undefined);
		try {
			await api.send("POST", `${path}/deployments`, { version_id });
			// The button of the version disappears.
			list.current?.querySelector("section")?.focus();
			onDeployed();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}
	const columns: Column<RouteVersionRow>[] = [
		{
			title: "Version",
			cell: (version) => (
				<button
					type="button"
					className="link"
					aria-current={version.version_id === selected?.version_id}
					onClick={() => setSelected(version)}
				>
					{shortId(version)}
				</button>
			),
		},
		{ title: "Stored", cell: ({ created_at }) => instant(created_at) },
		{
			title: "State",
			cell: (version) => (
				<div className="badges">
					{version.active === "true" && <Badge variant="success">deployed</Badge>}
					{version.version_id === route.version.version_id && <Badge variant="info">latest</Badge>}
				</div>
			),
		},
		{
			title: "Actions",
			cell: (version) =>
				version.active === "false" && (
					<Button
						size="sm"
						aria-label={`Deploy the version ${shortId(version)}`}
						onClick={() => setConfirming(version)}
					>
						Deploy
					</Button>
				),
		},
	];
	return (
		<Section
			title={`Versions of ${model}`}
			actions={
				<Button size="sm" onClick={onClose}>
					Close
				</Button>
			}
		>
			{error && <Failure error={error} />}
			{confirming && (
				<Confirm
					primary
					title={`Deploy the version ${shortId(confirming)}?`}
					text={`Requests to ${model} use it within five seconds.`}
					button="Deploy the version"
					onConfirm={() => void deploy(confirming)}
					onCancel={() => setConfirming(undefined)}
				/>
			)}
			{selected && (
				<InView key={selected.version_id}>
					<Section
						title={`Version ${shortId(selected)}`}
						actions={
							<Button
								size="sm"
								aria-label={`Close the version ${shortId(selected)}`}
								onClick={() => setSelected(undefined)}
							>
								Close
							</Button>
						}
					>
						<Code label="Elements" text={JSON.stringify(JSON.parse(selected.data), null, 2)} />
					</Section>
				</InView>
			)}
			<Loading of={versions}>
				{(rows) => (
					<div ref={list} className="stack">
						<DataTable
							label="Versions"
							columns={columns}
							rows={rows}
							rowKey={({ version_id }) => version_id}
							empty="No older versions."
						/>
						<Pager page={page} hasOlder={rows.length === PER_PAGE} onPage={setPage} />
					</div>
				)}
			</Loading>
			<Deployments path={path} changed={route.modified_at} />
		</Section>
	);
}

function Deployments({ path, changed }: { path: string; changed: string }) {
	const { api } = useSession();
	const [page, setPage] = useState(1);
	const deployments = useLoad(
		(signal) =>
			routeRows<RouteDeploymentRow>(
				api,
				`${path}/deployments`,
				"deployments",
				{ page, per_page: PER_PAGE },
				signal,
			),
		[api, path, page, changed],
	);
	return (
		<>
			<h3>Deployments</h3>
			<Loading of={deployments}>
				{(rows) => (
					<>
						<DataTable
							label="Deployments"
							columns={DEPLOYMENT_COLUMNS}
							rows={rows}
							rowKey={({ deployment_id }) => deployment_id}
							empty={
								page > 1 ? "No older deployments." : "No version is deployed, so the route serves nothing."
							}
						/>
						<Pager page={page} hasOlder={rows.length === PER_PAGE} onPage={setPage} />
					</>
				)}
			</Loading>
		</>
	);
}

/** Enough to distinguish the versions of a route. */
const shortId = ({ version_id }: { version_id: string }): string => version_id.slice(0, 8);

const DEPLOYMENT_COLUMNS: readonly Column<RouteDeploymentRow>[] = [
	{ title: "Deployed", cell: ({ created_at }) => instant(created_at) },
	{ title: "Version", cell: (deployment) => <code>{shortId(deployment)}</code> },
];
