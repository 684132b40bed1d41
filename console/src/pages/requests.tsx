import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useEffect, useState } from "react";
import type { RequestRow } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { decimal, instant, integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { RequestDetails } from "../requests/details.tsx";
import { useSession } from "../session/session.ts";

const FOLLOW_MS = 2_000;
const LIMIT = 50;
const ANY = "any";
const OUTCOMES = ["ok", "failed", "cancelled", "interrupted", "expired", "open"];

export default function Requests() {
	const { api } = useSession();
	const [model, setModel] = useState("");
	const [outcome, setOutcome] = useState(ANY);
	const [cursor, setCursor] = useState<string>();
	const [following, setFollowing] = useState(false);
	const [selected, setSelected] = useState<RequestRow>();
	const filters = { model: model.trim(), outcome: outcome === ANY ? undefined : outcome };
	const page = useLoad(
		(signal) =>
			api.get<RequestRow[]>(api.account("/ai/usage/requests"), { ...filters, cursor, limit: LIMIT }, signal),
		[api, filters.model, filters.outcome, cursor],
	);
	useInterval(page.reload, following ? FOLLOW_MS : undefined);

	const columns: Column<RequestRow>[] = [
		{
			title: "Started",
			cell: (row) => (
				<button type="button" className="link" onClick={() => setSelected(row)}>
					{instant(row.started_at)}
				</button>
			),
		},
		...COLUMNS,
	];
	return (
		<Page
			title="Requests"
			actions={<Switch label="Follow" checked={following} onCheckedChange={setFollowing} />}
		>
			<div className="filters">
				<Input
					label="Model"
					type="search"
					placeholder="@cf/…"
					value={model}
					onChange={(event) => {
						setModel(event.target.value);
						setCursor(undefined);
					}}
				/>
				<Select
					label="Outcome"
					value={outcome}
					items={{ [ANY]: "Any", ...Object.fromEntries(OUTCOMES.map((name) => [name, name])) }}
					onValueChange={(chosen) => {
						setOutcome(chosen ?? ANY);
						setCursor(undefined);
					}}
				/>
			</div>
			{selected && <RequestDetails request={selected} onClose={() => setSelected(undefined)} />}
			<Loading of={page}>
				{({ result, info }) => (
					<>
						<DataTable
							label="Requests"
							columns={columns}
							rows={result}
							rowKey={({ id }) => id}
							empty="No requests in the last 7 days."
						/>
						<div className="buttons">
							<Button disabled={cursor === undefined} onClick={() => setCursor(undefined)}>
								Newest
							</Button>
							<Button disabled={info.cursor === undefined} onClick={() => setCursor(info.cursor)}>
								Older
							</Button>
						</div>
					</>
				)}
			</Loading>
		</Page>
	);
}

const COLUMNS: readonly Column<RequestRow>[] = [
	{
		title: "Outcome",
		cell: ({ outcome }) => (
			<Badge variant={outcome === "ok" ? "success" : outcome === "open" ? "info" : "error"}>{outcome}</Badge>
		),
	},
	{ title: "Model", cell: ({ model }) => model },
	{ title: "Backend", cell: ({ backend }) => backend ?? "none" },
	{
		title: "Latency",
		numeric: true,
		cell: (row) => (row.latency_ms === null ? "" : milliseconds(row.latency_ms)),
	},
	{
		title: "Tokens",
		numeric: true,
		cell: (row) => `${integer(row.input_tokens)} + ${integer(row.output_tokens)}`,
	},
	{ title: "Neurons", numeric: true, cell: ({ neurons }) => decimal(neurons) },
];

function useInterval(work: () => void, periodMs: number | undefined): void {
	useEffect(() => {
		if (periodMs === undefined) return;
		const timer = setInterval(work, periodMs);
		return () => clearInterval(timer);
	}, [work, periodMs]);
}
