import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Meter } from "@cloudflare/kumo/components/meter";
import { Select } from "@cloudflare/kumo/components/select";
import { useRef, useState } from "react";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { hasEnded, titleOf, variantOf } from "../batches/status.ts";
import { DEFAULT_GATEWAY, gatewayPath } from "../gateways/paths.ts";
import { useGateways } from "../gateways/use-gateways.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant, integer } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useRemoval } from "../parts/use-removal.ts";
import { ReplayForm } from "../replays/form.tsx";
import type { Replay } from "../replays/records.ts";
import { ReplayResults } from "../replays/results.tsx";
import { Shadows } from "../replays/shadows.tsx";
import { useSession } from "../session/session.ts";

/** Requests of a gateway's log that were sent again to another model. */
export default function Replays() {
	const { api } = useSession();
	const [{ gateway }, setParameters] = useParameters({ gateway: DEFAULT_GATEWAY });
	const [isNew, setIsNew] = useState(false);
	const [shown, setShown] = useState<string>();
	const newReplay = useRef<HTMLButtonElement>(null);
	const path = `${gatewayPath(api, gateway)}/replay`;
	const gateways = useGateways();
	const replays = useLoad(async (signal) => (await api.get<Replay[]>(path, {}, signal)).result, [api, path]);
	useFollowing(replays.value?.some((replay) => !hasEnded(replay)) ?? false, replays);
	const detailed = replays.value?.find(({ id }) => id === shown);
	const names = new Set([DEFAULT_GATEWAY, gateway, ...(gateways.value ?? []).map(({ id }) => id)]);

	const removal = useRemoval<Replay>(async (replay) => {
		if (hasEnded(replay)) await api.send("DELETE", `${path}/${replay.id}`);
		else await api.send("POST", `${path}/${replay.id}/cancel`);
		// The button of the row disappears.
		newReplay.current?.focus();
		replays.reload();
	});

	const columns: Column<Replay>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (replay) => {
				const of = `the replay of ${instant(replay.created_at)}`;
				return (
					<div className="buttons">
						<Button size="sm" aria-label={`Answers of ${of}`} onClick={() => setShown(replay.id)}>
							Answers
						</Button>
						{replay.status !== "cancelling" && (
							<Button
								size="sm"
								variant="secondary-destructive"
								aria-label={`${hasEnded(replay) ? "Delete" : "Cancel"} ${of}`}
								onClick={() => removal.ask(replay)}
							>
								{hasEnded(replay) ? "Delete" : "Cancel"}
							</Button>
						)}
					</div>
				);
			},
		},
	];

	return (
		<Page
			title="Replays"
			actions={
				<Button ref={newReplay} variant="primary" onClick={() => setIsNew(true)}>
					New replay
				</Button>
			}
		>
			<div className="filters">
				<Select
					label="Gateway"
					value={gateway}
					items={Object.fromEntries([...names].map((name) => [name, name]))}
					onValueChange={(chosen) => {
						setShown(undefined);
						setParameters({ gateway: chosen ?? DEFAULT_GATEWAY });
					}}
				/>
			</div>
			{removal.error && <Failure error={removal.error} />}
			{isNew && (
				<InView>
					<ReplayForm
						path={path}
						onCreated={() => {
							setIsNew(false);
							newReplay.current?.focus();
							replays.reload();
						}}
						onCancel={() => setIsNew(false)}
					/>
				</InView>
			)}
			{detailed && (
				<InView key={detailed.id}>
					<ReplayResults
						replay={detailed}
						path={`${path}/${detailed.id}`}
						onClose={() => setShown(undefined)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={hasEnded(removal.row) ? "Delete this replay?" : "Cancel this replay?"}
					text={
						hasEnded(removal.row)
							? `The answers of ${removal.row.model} are deleted. The logs stay.`
							: "Logs that were not sent are never sent. The answers so far are kept."
					}
					button={hasEnded(removal.row) ? "Delete the replay" : "Cancel the replay"}
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={replays}>
				{(rows) => (
					<DataTable
						framed
						label="Replays"
						columns={columns}
						rows={rows}
						rowKey={({ id }) => id}
						empty="This gateway has no replays. A replay sends requests of its log again, to another model, and shows the answers side by side."
					/>
				)}
			</Loading>
			<Shadows key={gateway} path={`${gatewayPath(api, gateway)}/shadows`} />
		</Page>
	);
}

function Progress({ replay }: { replay: Replay }) {
	const { total, completed, failed } = replay.logs;
	const ended = completed + failed;
	return (
		<Meter
			label={failed > 0 ? `${integer(failed)} failed` : "Logs"}
			value={ended}
			max={Math.max(1, total)}
			customValue={`${integer(ended)} of ${integer(total)}`}
		/>
	);
}

const COLUMNS: readonly Column<Replay>[] = [
	{ title: "Created", cell: ({ created_at }) => instant(created_at) },
	{ title: "New model", cell: ({ model }) => model },
	{ title: "Judge", cell: ({ judge }) => judge ?? "–" },
	{
		title: "Status",
		cell: (replay) => <Badge variant={variantOf(replay.status, replay.logs.failed)}>{titleOf(replay)}</Badge>,
	},
	{ title: "Progress", cell: (replay) => <Progress replay={replay} /> },
];
