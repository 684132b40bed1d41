import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Meter } from "@cloudflare/kumo/components/meter";
import { useRef, useState } from "react";
import { answerOf, withQuery } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import type { Batch } from "../api/types.ts";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { BatchDetails } from "../batches/details.tsx";
import { BatchForm } from "../batches/form.tsx";
import { hasEnded, titleOf, variantOf } from "../batches/status.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant, integer } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { useSession } from "../session/session.ts";

const PER_PAGE = 50;
const NO_BATCHES =
	"This account has no batches. A batch runs the requests of a file later, on capacity that live requests leave, for a lower price.";
/** The end of an id in a row; ids of the same time begin alike. The details have all of it. */
const ID_CHARACTERS = 12;

/** The batches of OpenAI's API, the newest first. */
export default function Batches() {
	const { api } = useSession();
	const [isNew, setIsNew] = useState(false);
	const [shown, setShown] = useState<string>();
	const [cancelling, setCancelling] = useState<Batch>();
	const [error, setError] = useState<Error>();
	const newBatch = useRef<HTMLButtonElement>(null);
	const path = api.account("/ai/v1/batches");
	/** For each page, the last batch of the page before. */
	const [afters, setAfters] = useState<readonly (string | undefined)[]>([undefined]);
	const after = afters.at(-1);
	const batches = useLoad(
		async (signal) => {
			const listed = await api.fetch(withQuery(path, { limit: PER_PAGE, after }), { signal });
			const { data, has_more } = await answerOf<{ data: Batch[]; has_more: boolean }>(listed, "data");
			return { data, hasOlder: has_more, after };
		},
		[api, after],
	);
	const rows = batches.value?.data ?? [];
	useFollowing(
		rows.some((batch) => !hasEnded(batch)),
		batches,
	);
	function turnTo(page: number): void {
		if (page < afters.length) setAfters(afters.slice(0, page));
		// Until a page is loaded, the rows are those of the page before.
		else if (batches.value?.after === after) setAfters([...afters, rows.at(-1)?.id]);
	}
	const detailed = rows.find(({ id }) => id === shown);

	async function cancel({ id }: Batch): Promise<void> {
		setCancelling(undefined);
		setError(undefined);
		try {
			await api.fetch(`${path}/${id}/cancel`, { method: "POST" });
			// The button of the row disappears.
			newBatch.current?.focus();
			batches.reload();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	const columns: Column<Batch>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (batch) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Details of ${batch.id}`} onClick={() => setShown(batch.id)}>
						Details
					</Button>
					{!hasEnded(batch) && batch.status !== "cancelling" && (
						<Button
							size="sm"
							variant="secondary-destructive"
							aria-label={`Cancel ${batch.id}`}
							onClick={() => setCancelling(batch)}
						>
							Cancel
						</Button>
					)}
				</div>
			),
		},
	];

	return (
		<Page
			title="Batches"
			actions={
				<Button ref={newBatch} variant="primary" onClick={() => setIsNew(true)}>
					New batch
				</Button>
			}
		>
			{error && <Failure error={error} />}
			{isNew && (
				<InView>
					<BatchForm
						onCreated={() => {
							setIsNew(false);
							newBatch.current?.focus();
							setAfters([undefined]);
							batches.reload();
						}}
						onCancel={() => setIsNew(false)}
					/>
				</InView>
			)}
			{detailed && (
				<InView key={detailed.id}>
					<BatchDetails batch={detailed} onClose={() => setShown(undefined)} />
				</InView>
			)}
			{cancelling && (
				<Confirm
					title="Cancel this batch?"
					text={`Lines of ${cancelling.id} that have not started never start. The answers so far are stored.`}
					button="Cancel the batch"
					onConfirm={() => void cancel(cancelling)}
					onCancel={() => setCancelling(undefined)}
				/>
			)}
			<Loading of={batches}>
				{({ data, hasOlder }) => (
					<>
						<DataTable
							framed
							label="Batches"
							columns={columns}
							rows={data}
							rowKey={({ id }) => id}
							empty={after === undefined ? NO_BATCHES : "No older batches."}
						/>
						<Pager page={afters.length} hasOlder={hasOlder} onPage={turnTo} />
					</>
				)}
			</Loading>
		</Page>
	);
}

function Progress({ batch }: { batch: Batch }) {
	const { total, completed, failed } = batch.request_counts;
	const ended = completed + failed;
	return (
		<Meter
			label={failed > 0 ? `${integer(failed)} failed` : "Lines"}
			value={ended}
			max={Math.max(1, total)}
			customValue={`${integer(ended)} of ${integer(total)}`}
		/>
	);
}

const COLUMNS: readonly Column<Batch>[] = [
	{ title: "Id", cell: ({ id }) => <code>…{id.slice(-ID_CHARACTERS)}</code> },
	{ title: "Endpoint", cell: ({ endpoint }) => endpoint },
	{ title: "Model", cell: ({ model }) => model ?? "" },
	{
		title: "Status",
		cell: (batch) => (
			<Badge variant={variantOf(batch.status, batch.request_counts.failed)}>{titleOf(batch)}</Badge>
		),
	},
	{ title: "Progress", cell: (batch) => <Progress batch={batch} /> },
	{ title: "Created", cell: ({ created_at }) => instant(new Date(created_at * 1_000).toISOString()) },
];
