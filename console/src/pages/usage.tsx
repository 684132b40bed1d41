import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Loader } from "@cloudflare/kumo/components/loader";
import { Select } from "@cloudflare/kumo/components/select";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Link } from "react-router";
import { bodyOf } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import type { Dimension, LimitsReport, RefusedRow, ResultInfo, UsageCounts, UsageRow } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { saveText } from "../parts/download.ts";
import { ErrorBoundary } from "../parts/error-boundary.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { dayBefore, decimal, dollars, dollarsOf, integer, milliseconds } from "../parts/format.ts";
import { LoadError } from "../parts/lazy-page.ts";
import { Loading } from "../parts/loading.tsx";
import { Page, Section } from "../parts/page.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useSession } from "../session/session.ts";
import { tokenText, useTokenNames } from "../tokens/names.ts";
import { Budgets } from "../usage/budgets.tsx";
import { CHART_TITLES, CHARTS } from "../usage/charts.ts";
import { VectorUsage } from "../usage/vector-usage.tsx";

const UsageChart = lazy(() =>
	import("../usage/chart.tsx").catch((error) => {
		throw new LoadError(error);
	}),
);

const DAYS = 30;
const NO_REQUESTS = "No requests in this time.";
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
	const [parameters, set] = useParameters({
		from: dayBefore(DAYS - 1),
		to: dayBefore(0),
		by: "model",
		chart: "neurons",
	});
	const { from, to } = parameters;
	const by = keyOr(DIMENSIONS, parameters.by, "model");
	const chart = keyOr(CHARTS, parameters.chart, "neurons");
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
		setProblem(undefined);
		try {
			const query = new URLSearchParams({ from, to, group_by: `day,${by}`, format: "csv" });
			const response = await api.fetch(api.account(`/ai/usage?${query}`));
			saveText(`usage-${api.credentials.account}-${from}-${to}.csv`, await bodyOf(response.text()));
		} catch (error) {
			setProblem(errorOf(error));
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
					onChange={(event) => set({ from: event.target.value })}
				/>
				<Input
					label="To"
					type="date"
					value={to}
					min={from}
					onChange={(event) => set({ to: event.target.value })}
				/>
				<Select
					label="By"
					value={by}
					items={DIMENSIONS}
					onValueChange={(chosen) => set({ by: chosen ?? "" })}
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
						<Section
							title={`${CHARTS[chart].title} by day`}
							actions={
								<Select
									aria-label="Chart"
									size="sm"
									value={chart}
									items={CHART_TITLES}
									onValueChange={(chosen) => set({ chart: chosen ?? "" })}
								/>
							}
						>
							{days.length === 0 ? (
								<p className="empty">{NO_REQUESTS}</p>
							) : (
								<ErrorBoundary>
									<Suspense fallback={<ChartPlace />}>
										<UsageChart days={days} chart={CHARTS[chart]} from={from} to={to} />
									</Suspense>
								</ErrorBoundary>
							)}
						</Section>
						<Section title={`By ${DIMENSIONS[by].toLowerCase()}`}>
							<DataTable
								label="Usage"
								columns={[{ title: DIMENSIONS[by], cell: (row) => <Name row={row} by={by} /> }, ...COLUMNS]}
								rows={rows}
								rowKey={(row) => nameOf(row, by)}
								empty={NO_REQUESTS}
							/>
							{info.truncated && <p>There are more rows than the report contains.</p>}
						</Section>
						<VectorUsage from={from} to={to} />
					</>
				)}
			</Loading>
		</Page>
	);
}

/** Without it, the whole page would wait for the script of the chart. */
const ChartPlace = () => (
	<div className="chart-place" role="status" aria-label="Loading the chart">
		<Loader />
	</div>
);

/** The key of the table with this text. */
const keyOr = <Key extends string>(table: Readonly<Record<Key, unknown>>, text: string, other: Key): Key =>
	(Object.keys(table) as Key[]).find((key) => key === text) ?? other;

/** The name of a row. It leads to the requests of its model, task or token. */
function Name({ row, by }: { row: UsageRow; by: Dimension }): ReactNode {
	const names = useTokenNames();
	const value = row[by];
	const name = by === "token" ? tokenText(row.token ?? null, names) : nameOf(row, by);
	if (!value || by === "day" || by === "backend") return name;
	return <Link to={`/requests?${new URLSearchParams({ [by]: value })}`}>{name}</Link>;
}

const averageOf = (value: number | null): string => (value === null ? "–" : milliseconds(value));

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
	<section className="card totals" aria-label="Totals">
		<Facts
			rows={[
				["Neurons", decimal(counts?.neurons ?? 0)],
				["US dollars", dollars(dollarsOf(counts?.neurons ?? 0))],
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
