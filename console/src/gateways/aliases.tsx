import { useLoad } from "../api/use-load.ts";
import type { Column } from "../parts/data-table.tsx";
import { instant } from "../parts/format.ts";
import { useSession } from "../session/session.ts";
import { AliasForm, ROUTINGS } from "./alias-form.tsx";
import { ManagedRows } from "./managed-rows.tsx";
import type { GatewayAliasRow } from "./records.ts";

/** The aliases of a gateway. `path`: of the aliases. */
export function Aliases({ path }: { path: string }) {
	const { api } = useSession();
	const aliases = useLoad(
		async (signal) => (await api.get<GatewayAliasRow[]>(path, {}, signal)).result,
		[api, path],
	);
	return (
		<ManagedRows
			title="Aliases"
			label="Aliases"
			noun="alias"
			path={path}
			rows={aliases}
			columns={COLUMNS}
			idOf={({ name }) => name}
			nameOf={({ name }) => name}
			empty="No aliases. An alias is a name for several models, of which one answers."
			deletion="Requests that name it are refused within five seconds."
			form={({ row, ...form }) => <AliasForm alias={row} path={path} {...form} />}
		/>
	);
}

const COLUMNS: readonly Column<GatewayAliasRow>[] = [
	{ title: "Model in requests", cell: ({ model }) => <code>{model}</code> },
	{
		title: "Models",
		cell: ({ models }) =>
			models.length > 0 ? (
				<ol className="models">
					{models.map((id) => (
						<li key={id}>{id}</li>
					))}
				</ol>
			) : (
				<span className="refused">none: requests are refused</span>
			),
	},
	{ title: "Order", cell: ({ routing }) => ROUTINGS[routing] },
	{ title: "Changed", cell: ({ modified_at }) => instant(modified_at) },
];
