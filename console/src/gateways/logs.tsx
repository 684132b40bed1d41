import { Badge } from "@cloudflare/kumo/components/badge";
import { Select } from "@cloudflare/kumo/components/select";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useState } from "react";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { dollars, instant, integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { useSession } from "../session/session.ts";
import { LogDetails } from "./log-details.tsx";
import type { GatewayLog } from "./records.ts";

export interface LogFilters {
	model: string;
	outcome: string;
	metadata: string;
}

interface Props {
	/** Of the logs. */
	path: string;
	filters: LogFilters;
	onFilter(changes: Partial<LogFilters>): void;
}

const PER_PAGE = 20;
const NO_MATCH = "No log matches these filters.";
const ANY = "any";
export const NO_FILTERS: LogFilters = { model: "", outcome: ANY, metadata: "" };
const OUTCOMES = { [ANY]: "Any", ok: "Successful", failed: "Failed", cached: "From the cache" };
const CONDITIONS: Readonly<Record<string, object>> = {
	ok: { key: "success", operator: "eq", value: [true] },
	failed: { key: "success", operator: "eq", value: [false] },
	cached: { key: "cached", operator: "eq", value: [true] },
};

/** The requests of a gateway, the latest first. */
export function Logs({ path, filters, onFilter }: Props) {
	const { api } = useSession();
	const [page, setPage] = useState(1);
	const [following, setFollowing] = useState(false);
	const [selected, setSelected] = useState<GatewayLog>();
	const { model, outcome, metadata } = filters;
	const logs = useLoad(
		async (signal) => {
			const conditions = [
				...(model.trim() === "" ? [] : [{ key: "model", operator: "contains", value: [model.trim()] }]),
				...(CONDITIONS[outcome] ? [CONDITIONS[outcome]] : []),
			];
			const query = {
				...{ page, per_page: PER_PAGE, search: metadata.trim() },
				...(conditions.length > 0 && { filters: JSON.stringify(conditions) }),
			};
			return (await api.get<GatewayLog[]>(path, query, signal)).result;
		},
		[api, path, model, outcome, metadata, page],
	);
	useFollowing(following, logs);
	const filter = (changes: Partial<LogFilters>): void => {
		onFilter(changes);
		setPage(1);
	};
	const isFiltered = model !== "" || outcome !== ANY || metadata !== "";
	const columns: Column<GatewayLog>[] = [
		{
			title: "Started",
			cell: (log) => (
				<button type="button" className="link" onClick={() => setSelected(log)}>
					{instant(log.created_at)}
				</button>
			),
		},
		...COLUMNS,
	];
	return (
		<Section
			title="Logs"
			actions={<Switch label="Follow" checked={following} onCheckedChange={setFollowing} />}
		>
			<div className="filters">
				<SearchField
					label="Model"
					placeholder="A part of its name"
					value={model}
					onSearch={(text) => filter({ model: text })}
				/>
				<Select
					label="Outcome"
					value={outcome}
					items={OUTCOMES}
					onValueChange={(chosen) => filter({ outcome: chosen ?? ANY })}
				/>
				<SearchField
					label="Metadata"
					placeholder="A part of a key or a value"
					value={metadata}
					onSearch={(text) => filter({ metadata: text })}
				/>
			</div>
			{selected && (
				<LogDetails
					key={selected.id}
					log={selected}
					path={`${path}/${selected.id}`}
					onClose={() => setSelected(undefined)}
				/>
			)}
			<Loading of={logs}>
				{(rows) => (
					<>
						<DataTable
							label="Logs"
							columns={columns}
							rows={rows}
							rowKey={({ id }) => id}
							empty={page > 1 ? "No older logs." : isFiltered ? NO_MATCH : "This gateway has no logs yet."}
						/>
						{/* The number of all logs would have to be counted at each load. */}
						<Pager page={page} hasOlder={rows.length === PER_PAGE} onPage={setPage} />
					</>
				)}
			</Loading>
		</Section>
	);
}

const COLUMNS: readonly Column<GatewayLog>[] = [
	{
		title: "Status",
		cell: ({ success, cached, status_code }) => (
			<>
				<Badge variant={success ? "success" : "error"}>{status_code}</Badge>{" "}
				{cached && <Badge variant="info">Cached</Badge>}
			</>
		),
	},
	{ title: "Provider", cell: ({ provider }) => provider },
	{ title: "Model", cell: ({ model }) => model },
	{ title: "Input tokens", numeric: true, cell: ({ tokens_in }) => countOf(tokens_in) },
	{ title: "Output tokens", numeric: true, cell: ({ tokens_out }) => countOf(tokens_out) },
	{ title: "Cost", numeric: true, cell: ({ cost }) => (cost === undefined ? "–" : dollars(cost)) },
	{ title: "Duration", numeric: true, cell: ({ duration }) => milliseconds(duration) },
];

const countOf = (tokens: number | null): string => (tokens === null ? "–" : integer(tokens));
