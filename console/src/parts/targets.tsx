import { Badge } from "@cloudflare/kumo/components/badge";
import type { ExplainedTarget } from "../api/types.ts";
import { type Column, DataTable } from "./data-table.tsx";

const COLUMNS: readonly Column<ExplainedTarget>[] = [
	{
		title: "Backend",
		cell: ({ backend, kind, replica }) => {
			const engine = replica?.host ?? kind;
			return (
				<>
					{backend} {engine !== backend && <span className="subtle">{engine}</span>}
				</>
			);
		},
	},
	{
		title: "Model",
		cell: ({ model, weights }) => (
			<>
				{model}
				{weights !== undefined && <div className="subtle">{weights}</div>}
			</>
		),
	},
	{ title: "Circuit", cell: ({ circuit }) => <Circuit state={circuit} /> },
	{ title: "Why", cell: ({ why }) => why },
];

/** The engines of a plan, in the order in which they are tried. */
export const TargetTable = ({ targets }: { targets: readonly ExplainedTarget[] }) => (
	<DataTable
		label="Engines"
		columns={COLUMNS}
		rows={targets}
		rowKey={({ backend, replica, model }) => `${backend} ${replica?.number} ${model}`}
		empty="No engine serves this model."
	/>
);

/** The state of a circuit breaker. */
export function Circuit({ state }: { state: string }) {
	const variant = state === "closed" ? "success" : state === "open" ? "error" : "warning";
	return <Badge variant={variant}>{state}</Badge>;
}
