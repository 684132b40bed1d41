import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { v4 } from "../api/client.ts";
import type { EnginesReport } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { servedBy } from "../engines/patterns.ts";
import { PlanForm } from "../engines/plan-form.tsx";
import { Replicas } from "../engines/replicas.tsx";
import { useCatalog } from "../models/catalog.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Circuit } from "../parts/targets.tsx";
import { useSession } from "../session/session.ts";

type RouteRow = EnginesReport["routes"][number];
type EngineRow = EnginesReport["engines"][number];

export default function Engines() {
	const { api } = useSession();
	/** Another number for each click, so that a second click on a route shows its plan again. */
	const [chosen, setChosen] = useState<{ pattern?: string; click: number }>({ click: 0 });
	const explain = (pattern: string): void => setChosen(({ click }) => ({ pattern, click: click + 1 }));
	const catalog = useCatalog();
	const models = (catalog.value ?? []).map(({ name }) => name);
	const report = useLoad(
		async (signal) => (await api.get<EnginesReport>(v4("/engines"), {}, signal)).result,
		[api],
	);
	return (
		<Page title="Engines" actions={<Button onClick={report.reload}>Refresh</Button>}>
			<Loading of={report}>
				{({ routes, engines }) => (
					<>
						<Section title="Health">
							<DataTable
								label="Health"
								columns={HEALTH}
								rows={engines}
								rowKey={({ backend, replica, model }) => `${backend} ${replica} ${model}`}
								empty="No engine was called since this process started."
							/>
						</Section>
						<Replicas />
						<PlanForm
							key={chosen.click}
							pattern={chosen.pattern}
							models={
								chosen.pattern === undefined
									? models
									: servedBy(
											chosen.pattern,
											routes.map(({ pattern }) => pattern),
											models,
										)
							}
						/>
						<Section title="Routes">
							<DataTable
								label="Routes"
								columns={routeColumns(explain)}
								rows={withoutRepeats(routes)}
								rowKey={(route) => JSON.stringify(route)}
								empty="No route is configured."
							/>
						</Section>
					</>
				)}
			</Loading>
		</Page>
	);
}

/** The default backend and a route for `*` to it are the same route. */
const withoutRepeats = (routes: readonly RouteRow[]): RouteRow[] => [
	...new Map(routes.map((route) => [JSON.stringify(route), route])).values(),
];

const routeColumns = (onExplain: (model: string) => void): readonly Column<RouteRow>[] => [
	{ title: "Model", cell: ({ pattern }) => pattern },
	{
		title: "Engines",
		cell: ({ targets }) => (
			<ul className="plain">
				{targets.map((target) => (
					<li key={`${target.backend} ${target.model}`}>{describe(target)}</li>
				))}
			</ul>
		),
	},
	{
		title: "Plan",
		cell: ({ pattern }) => (
			<Button size="sm" aria-label={`Explain ${pattern}`} onClick={() => onExplain(pattern)}>
				Explain
			</Button>
		),
	},
];

const describe = ({ backend, replicas, model, weight, weights }: RouteRow["targets"][number]): string =>
	[
		backend,
		replicas.length > 0 && `(${replicas.join(", ")})`,
		model,
		weight !== undefined && `weight ${weight}`,
		weights !== undefined && `[${weights}]`,
	]
		.filter(Boolean)
		.join(" ");

const HEALTH: readonly Column<EngineRow>[] = [
	{ title: "Backend", cell: ({ backend }) => backend },
	{ title: "Replica", cell: ({ replica }) => replica || "–" },
	{ title: "Model", cell: ({ model }) => model },
	{ title: "Circuit", cell: ({ circuit }) => <Circuit state={circuit} /> },
	{ title: "Calls", numeric: true, cell: ({ requests }) => integer(requests) },
	{ title: "Failures", numeric: true, cell: ({ failures }) => integer(failures) },
	{
		title: "Mean latency",
		numeric: true,
		cell: ({ latency_ms }) => (latency_ms === null ? "–" : milliseconds(latency_ms)),
	},
	{
		title: "Under way",
		numeric: true,
		cell: ({ requests, answers, failures }) => integer(Math.max(0, requests - answers - failures)),
	},
];
