import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { v4 } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import type { Pool, Replica } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { Circuit } from "../parts/targets.tsx";
import { useSession } from "../session/session.ts";

interface Row extends Replica {
	backend: string;
}

/** The replicas of all backends. A draining replica completes its requests and gets no new ones. */
export function Replicas() {
	const { api } = useSession();
	const [error, setError] = useState<Error>();
	const pools = useLoad(async (signal) => (await api.get<Pool[]>(v4("/pools"), {}, signal)).result, [api]);

	async function setState({ backend, id }: Row, state: "active" | "draining"): Promise<void> {
		setError(undefined);
		try {
			const path = v4(`/pools/${encodeURIComponent(backend)}/replicas/${id}`);
			await api.send("PATCH", path, { state });
			pools.reload();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	const columns: readonly Column<Row>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (replica) => {
				const drains = replica.state === "active";
				const action = drains ? "Drain" : "Undrain";
				return (
					replica.state !== "removed" && (
						<Button
							size="sm"
							aria-label={`${action} ${replica.url}`}
							onClick={() => void setState(replica, drains ? "draining" : "active")}
						>
							{action}
						</Button>
					)
				);
			},
		},
	];

	return (
		<Section title="Replicas">
			{error && <Failure error={error} />}
			<Loading of={pools}>
				{(backends) => (
					<DataTable
						label="Replicas"
						columns={columns}
						rows={backends.flatMap(({ backend, replicas }) =>
							replicas.map((replica) => ({ ...replica, backend })),
						)}
						rowKey={({ backend, id }) => `${backend} ${id}`}
						empty="No route names an engine with an address."
					/>
				)}
			</Loading>
		</Section>
	);
}

const VARIANTS = { active: "success", draining: "warning", removed: "error" } as const;

const COLUMNS: readonly Column<Row>[] = [
	{ title: "Backend", cell: ({ backend }) => backend },
	{ title: "Address", cell: ({ url }) => url },
	{ title: "State", cell: ({ state }) => <Badge variant={VARIANTS[state]}>{state}</Badge> },
	{ title: "Role", cell: ({ role }) => (role === "both" ? "–" : role) },
	{ title: "Circuit", cell: ({ circuit }) => <Circuit state={circuit} /> },
	{
		title: "Requests",
		numeric: true,
		cell: ({ requests }) => (requests === null ? "–" : integer(requests)),
	},
	{
		title: "Waiting in the engine",
		numeric: true,
		cell: ({ engine }) => (engine === null ? "–" : integer(engine.waiting)),
	},
];
