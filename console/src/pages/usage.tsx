import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { lazy, useState } from "react";
import type { Dimension, LimitsReport, RefusedRow, ResultInfo, UsageCounts, UsageRow } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { saveText } from "../parts/download.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { dayBefore, decimal, integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Page, Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { Budgets } from "../usage/budgets.tsx";

const UsageChart = lazy(() => import("../usage/chart.tsx"));

const DAYS = 30;
const DIMENSIONS: Readonly<Record<Dimension, string>> = {
	day: "Day",
	model: "Model",
	task: "Task",
	token: "Token",
	backend: "Backend",
};

interface Report {
	days: UsageRow[];
	rows: UsageRow[];
	refused: RefusedRow[];
	limits: LimitsReport;
	info: ResultInfo;
}

export default function Usage() {
	const { api } = useSession();
	const [from, setFrom] = useState(() => dayBefore(DAYS - 1));
	const [to, setTo] = useState(() => dayBefore(0));
	const [by, setBy] = useState<Dimension>("model");
	const [problem, setProblem] = useState<Error>();
	const report = useLoad(
		async (signal): Promise<Report> => {
			const usage = api.account("/ai/usage");
			const [days, rows, refused, limits] = await Promise.all([
				api.get<UsageRow[]>(usage, { from, to, group_by: "day" }, signal),
				api.get<UsageRow[]>(usage, { from, to, group_by: by }, signal),
				api.get<RefusedRow[]>(`${usage}/refused`, { from, to, group_by: "code" }, signal),
				api.get<LimitsReport>(`${usage}/limits`, {}, signal),
			]);
			return {
				days: days.result,
				rows: rows.result,
				refused: refused.result,
				limits: limits.result,
				info: rows.info,
			};
		},
		[api, from, to, by],
	);

	async function saveCsv(): Promise<void> {
		try {
			const query = new URLSearchParams({ from, to, group_by: `day,${by}`, format: "csv" });
			const response = await api.fetch(api.account(`/ai/usage?${query}`));
			saveText(`usage-${api.credentials.account}-${from}-${to}.csv`, await response.text());
		} catch (error) {
			setProblem(error instanceof Error ? error : new Error(String(error)));
		}
	}

	return (
		<Page title="Usage" actions={<Button onClick={() => void saveCsv()}>Save as CSV</Button>}>
			<div className="filters">
				<Input
					label="From"
					type="date"
					value={from}
					max={to}
					onChange={(event) => setFrom(event.target.value)}
				/>
				<Input label="To" type="date" value={to} min={from} onChange={(event) => setTo(event.target.value)} />
				<Select
					label="By"
					value={by}
					items={DIMENSIONS}
					onValueChange={(chosen) => setBy(chosen ?? "model")}
				/>
			</div>
			{problem && <Failure error={problem} />}
			<Loading of={report}>
				{({ days, rows, refused, limits, info }) => (
					<>
						<Totals counts={info.totals} refused={refused} open={limits.open_requests} />
						<Section title="Budgets">
							<Budgets budgets={limits.budgets} />
						</Section>
						<Section title="Neurons by day">
							<UsageChart days={days} from={from} to={to} />
						</Section>
						<Section title={`By ${DIMENSIONS[by].toLowerCase()}`}>
							<DataTable
								label="Usage"
								columns={[{ title: DIMENSIONS[by], cell: (row) => nameOf(row, by) }, ...COLUMNS]}
								rows={rows}
								rowKey={(row) => nameOf(row, by)}
								empty="No requests in this time."
							/>
							{info.truncated && <p>There are more rows than the report contains.</p>}
						</Section>
					</>
				)}
			</Loading>
		</Page>
	);
}

const averageOf = (value: number | null): string => (value === null ? "none" : milliseconds(value));

const nameOf = (row: UsageRow, by: Dimension): string => row[by] ?? (by === "token" ? "operator" : "none");

const COLUMNS: readonly Column<UsageRow>[] = [
	{ title: "Requests", numeric: true, cell: ({ requests }) => integer(requests) },
	{ title: "Failed", numeric: true, cell: ({ failed }) => integer(failed) },
	{ title: "Input tokens", numeric: true, cell: (row) => integer(row.input_tokens) },
	{ title: "Output tokens", numeric: true, cell: (row) => integer(row.output_tokens) },
	{ title: "Neurons", numeric: true, cell: ({ neurons }) => decimal(neurons) },
	{ title: "First token", numeric: true, cell: (row) => averageOf(row.average_time_to_first_token_ms) },
	{ title: "Latency", numeric: true, cell: (row) => averageOf(row.average_latency_ms) },
];

interface TotalsProps {
	counts: UsageCounts | undefined;
	refused: readonly RefusedRow[];
	open: number;
}

const Totals = ({ counts, refused, open }: TotalsProps) => (
	<section className="card" aria-label="Totals">
		<Facts
			rows={[
				["Neurons", decimal(counts?.neurons ?? 0)],
				["Requests", integer(counts?.requests ?? 0)],
				["Failed", integer(counts?.failed ?? 0)],
				["Refused by limits", integer(refused.reduce((sum, { requests }) => sum + requests, 0))],
				["Input tokens", integer(counts?.input_tokens ?? 0)],
				["Output tokens", integer(counts?.output_tokens ?? 0)],
				["Average latency", averageOf(counts?.average_latency_ms ?? null)],
				["Under way now", integer(open)],
			]}
		/>
	</section>
);
