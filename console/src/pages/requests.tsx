import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Select } from "@cloudflare/kumo/components/select";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useRef, useState } from "react";
import type { RequestRow } from "../api/types.ts";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { decimal, instant, integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { RequestDetails } from "../requests/details.tsx";
import { useSession } from "../session/session.ts";

const PER_PAGE = 50;
const ANY = "any";
const NO_FILTERS = { model: "", task: "", token: "", outcome: ANY };
const OUTCOMES = ["ok", "failed", "cancelled", "interrupted", "expired", "open"];

export default function Requests() {
	const { api } = useSession();
	const [filters, setFilters] = useParameters(NO_FILTERS);
	const [cursor, setCursor] = useState<string>();
	const [following, setFollowing] = useState(false);
	const [selected, setSelected] = useState<RequestRow>();
	const { model, task, token, outcome } = filters;
	const page = useLoad(
		(signal) => {
			const query = {
				model: model.trim(),
				task,
				token: token.trim(),
				outcome: outcome === ANY ? undefined : outcome,
			};
			return api.get<RequestRow[]>(
				api.account("/ai/usage/requests"),
				{ ...query, cursor, limit: PER_PAGE },
				signal,
			);
		},
		[api, model, task, token, outcome, cursor],
	);
	useFollowing(following, page);
	const follow = (isOn: boolean): void => {
		setFollowing(isOn);
		if (isOn) page.reload();
	};
	const filter = (changes: Partial<typeof NO_FILTERS>): void => {
		setFilters(changes);
		setCursor(undefined);
	};
	const fields = useRef<HTMLDivElement>(null);
	/** The button is disabled after that. */
	const clearFilters = (): void => {
		filter(NO_FILTERS);
		fields.current?.querySelector("input")?.focus();
	};
	const list = useRef<HTMLDivElement>(null);
	/** Of the last part, the button is disabled. */
	const turnTo = (part: string | undefined): void => {
		setCursor(part);
		list.current?.querySelector("section")?.focus();
	};
	const isFiltered = Object.values({ model, task, token }).some(Boolean) || outcome !== ANY;

	const columns: Column<RequestRow>[] = [
		{
			title: "Ended",
			cell: (row) => (
				<button type="button" className="link" onClick={() => setSelected(row)}>
					{row.settled_at === undefined ? "Under way" : instant(row.settled_at)}
				</button>
			),
		},
		...COLUMNS,
	];
	return (
		<Page title="Requests" actions={<Switch label="Follow" checked={following} onCheckedChange={follow} />}>
			<div className="filters" ref={fields}>
				<SearchField
					label="Model"
					placeholder="Its complete name"
					value={model}
					onSearch={(text) => filter({ model: text })}
				/>
				<SearchField
					label="Token"
					placeholder="The id of a token"
					value={token}
					onSearch={(text) => filter({ token: text })}
				/>
				<Select
					label="Outcome"
					value={outcome}
					items={{ [ANY]: "Any", ...Object.fromEntries(OUTCOMES.map((name) => [name, name])) }}
					onValueChange={(chosen) => filter({ outcome: chosen ?? ANY })}
				/>
				<Button disabled={!isFiltered} onClick={clearFilters}>
					Clear filters
				</Button>
			</div>
			<p className="subtle">Open requests come first. The others are sorted by their end.</p>
			{task !== "" && <p className="subtle">Task: {task}</p>}
			{selected && (
				<RequestDetails key={selected.id} request={selected} onClose={() => setSelected(undefined)} />
			)}
			<Loading of={page}>
				{({ result, info }) => (
					<>
						<div ref={list} className="stack">
							<DataTable
								framed
								label="Requests"
								columns={columns}
								rows={result}
								rowKey={({ id }) => id}
								empty={isFiltered ? "No request matches these filters." : "No requests in the last 7 days."}
							/>
						</div>
						{(cursor !== undefined || info.cursor !== undefined) && (
							<div className="buttons">
								<Button disabled={cursor === undefined} onClick={() => turnTo(undefined)}>
									Newest
								</Button>
								<Button disabled={info.cursor === undefined} onClick={() => turnTo(info.cursor)}>
									Older
								</Button>
							</div>
						)}
					</>
				)}
			</Loading>
		</Page>
	);
}

const COLUMNS: readonly Column<RequestRow>[] = [
	{ title: "Started", cell: ({ started_at }) => instant(started_at) },
	{
		title: "Outcome",
		cell: ({ outcome }) => (
			<Badge variant={outcome === "ok" ? "success" : outcome === "open" ? "info" : "error"}>{outcome}</Badge>
		),
	},
	{ title: "Reason", cell: ({ code, message }) => (code === undefined ? "–" : `${code}: ${message}`) },
	{ title: "Model", cell: ({ model }) => model },
	{ title: "Backend", cell: ({ backend }) => backend ?? "–" },
	{
		title: "Latency",
		numeric: true,
		cell: (row) => (row.latency_ms === null ? "–" : milliseconds(row.latency_ms)),
	},
	{ title: "Input tokens", numeric: true, cell: (row) => integer(row.input_tokens) },
	{ title: "Output tokens", numeric: true, cell: (row) => integer(row.output_tokens) },
	{ title: "Neurons", numeric: true, cell: ({ neurons }) => decimal(neurons) },
];
