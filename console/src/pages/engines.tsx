import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { useState } from "react";
import { v4 } from "../api/client.ts";
import type { EnginesReport } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Replicas } from "../engines/replicas.tsx";
import { Plan } from "../models/plan.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { integer, milliseconds } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Circuit } from "../parts/targets.tsx";
import { useSession } from "../session/session.ts";

type RouteRow = EnginesReport["routes"][number];
type EngineRow = EnginesReport["engines"][number];

export default function Engines() {
	const { api } = useSession();
	const [explained, setExplained] = useState<string>();
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
						<PlanForm key={explained} model={explained} onModel={setExplained} />
						<Section title="Routes">
							<DataTable
								label="Routes"
								columns={routeColumns(setExplained)}
								rows={routes}
								rowKey={({ pattern }) => pattern}
								empty="No route is configured."
							/>
						</Section>
					</>
				)}
			</Loading>
		</Page>
	);
}

const isModel = (pattern: string): boolean => !pattern.includes("*");

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
		cell: ({ pattern }) =>
			isModel(pattern) && (
				<Button size="sm" aria-label={`Explain ${pattern}`} onClick={() => onExplain(pattern)}>
					Explain
				</Button>
			),
	},
];

const describe = ({ backend, replicas, model, weight }: RouteRow["targets"][number]): string =>
	[
		backend,
		replicas.length > 0 && `(${replicas.join(", ")})`,
		model,
		weight !== undefined && `weight ${weight}`,
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

interface PlanFormProps {
	/** The model whose plan is shown. */
	model: string | undefined;
	onModel(model: string): void;
}

function PlanForm({ model, onModel }: PlanFormProps) {
	const [name, setName] = useState(model ?? "");
	return (
		<Section title="Plan of a model">
			<form
				className="filters"
				onSubmit={(event) => {
					event.preventDefault();
					onModel(name.trim());
				}}
			>
				<Input
					label="Model"
					placeholder="@cf/…"
					required
					value={name}
					onChange={(event) => setName(event.target.value)}
				/>
				<Button type="submit">Explain</Button>
			</form>
			{model !== undefined && (
				<InView>
					<Plan model={model} />
				</InView>
			)}
		</Section>
	);
}
