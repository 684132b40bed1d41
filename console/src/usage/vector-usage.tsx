import type { VectorUsageRow } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { dollars, integer } from "../parts/format.ts";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";

const COLUMNS: readonly Column<VectorUsageRow>[] = [
	{ title: "Index", cell: ({ index }) => index },
	{ title: "Queries", numeric: true, cell: ({ queries }) => integer(queries) },
	{ title: "Queried dimensions", numeric: true, cell: (row) => integer(row.queried_dimensions) },
	{ title: "Stored dimensions", numeric: true, cell: (row) => integer(row.stored_dimensions) },
	{ title: "US dollars", numeric: true, cell: ({ usd }) => dollars(usd) },
];

/**
 * What the vector indexes have used; stored dimensions are the average of the days. Nothing for an account without one, or a gateway
 * without the room.
 */
export function VectorUsage({ from, to }: { from: string; to: string }) {
	const { api } = useSession();
	const { value: rows = [] } = useLoad(
		async (signal) => {
			const query = { from, to, group_by: "index" };
			return (await api.get<VectorUsageRow[]>(api.account("/ai/usage/vectors"), query, signal)).result;
		},
		[api, from, to],
	);
	if (rows.length === 0) return null;
	return (
		<Section title="Vector indexes">
			<DataTable
				label="Vector indexes"
				columns={COLUMNS}
				rows={rows}
				rowKey={({ index }) => index}
				empty="No vector indexes in this time."
			/>
		</Section>
	);
}
