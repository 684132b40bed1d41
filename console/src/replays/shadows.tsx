import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { integer } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";
import { Comparisons } from "./comparisons.tsx";
import type { Shadow } from "./records.ts";

/** The shadows of routes, with their answers in a gateway. `path`: of the gateway's shadows. Nothing is shown if there are none. */
export function Shadows({ path }: { path: string }) {
	const { api } = useSession();
	const [shown, setShown] = useState<string>();
	const heading = useRef<HTMLDivElement>(null);
	const shadows = useLoad(async (signal) => (await api.get<Shadow[]>(path, {}, signal)).result, [api, path]);

	const removal = useRemoval<string>(async (name) => {
		setShown(undefined);
		await api.send("DELETE", `${path}/${name}`);
		// The button of the row may disappear.
		heading.current?.focus();
		shadows.reload();
	});

	const columns: Column<Shadow>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: ({ name, answers }) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Answers of the shadow ${name}`} onClick={() => setShown(name)}>
						Answers
					</Button>
					{answers > 0 && (
						<Button
							size="sm"
							variant="secondary-destructive"
							aria-label={`Delete the answers of the shadow ${name}`}
							onClick={() => removal.ask(name)}
						>
							Delete
						</Button>
					)}
				</div>
			),
		},
	];

	return (
		<Loading of={shadows}>
			{(rows) =>
				rows.length > 0 && (
					<div ref={heading} tabIndex={-1}>
						<Section title="Shadows" actions={<Button onClick={() => shadows.reload()}>Reload</Button>}>
							{removal.error && <Failure error={removal.error} />}
							<DataTable label="Shadows" columns={columns} rows={rows} rowKey={({ name }) => name} empty="" />
						</Section>
						{shown !== undefined && (
							<InView key={shown}>
								<Section
									title={`Answers of the shadow ${shown}`}
									actions={<Button onClick={() => setShown(undefined)}>Close</Button>}
								>
									<Comparisons
										path={`${path}/${shown}/results`}
										version={rows.find(({ name }) => name === shown)?.answers ?? null}
										empty="There are no answers in this gateway. A request takes part if its contents are logged."
									/>
								</Section>
							</InView>
						)}
						{removal.row !== undefined && (
							<Confirm
								title={`Delete the answers of ${removal.row}?`}
								text="The answers of the shadow in this gateway are deleted. The logs stay."
								button="Delete the answers"
								onConfirm={removal.confirm}
								onCancel={removal.cancel}
							/>
						)}
					</div>
				)
			}
		</Loading>
	);
}

const PERCENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 2 });

const COLUMNS: readonly Column<Shadow>[] = [
	{ title: "Shadow", cell: ({ name }) => name },
	{ title: "Route", cell: ({ route }) => route ?? "none: it was removed" },
	{ title: "Target", cell: ({ backend, model }) => [backend, model].filter(Boolean).join(" ") || "–" },
	{ title: "Share", cell: ({ share }) => PERCENT.format(share), numeric: true },
	{ title: "Answers", cell: ({ answers }) => integer(answers), numeric: true },
];
