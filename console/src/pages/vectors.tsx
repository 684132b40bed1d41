import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import type { VectorIndex } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant, integer } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";
import { IndexPart } from "../vectors/index-part.tsx";
import { NewIndexForm } from "../vectors/new-index.tsx";
import { indexesPath, indexPath } from "../vectors/paths.ts";

export default function Vectors() {
	const { api } = useSession();
	const [{ index: selected }, setParameters] = useParameters({ index: "" });
	const [isCreating, setIsCreating] = useState(false);
	const newIndex = useRef<HTMLButtonElement>(null);
	const indexes = useLoad(
		async (signal) => (await api.get<VectorIndex[]>(indexesPath(api), {}, signal)).result,
		[api],
	);
	const open = indexes.value?.find(({ name }) => name === selected);

	const removal = useRemoval<VectorIndex>(async ({ name }) => {
		await api.send("DELETE", indexPath(api, name));
		// The row of the index disappears with its button.
		newIndex.current?.focus();
		if (name === selected) setParameters({ index: "" });
		indexes.reload();
	});

	const columns: Column<VectorIndex>[] = [
		{
			title: "Name",
			cell: ({ name }) => (
				<button
					type="button"
					className="link"
					aria-current={name === selected}
					onClick={() => setParameters({ index: name })}
				>
					{name}
				</button>
			),
		},
		...COLUMNS,
		{
			title: "Actions",
			cell: (index) => (
				<Button
					size="sm"
					variant="secondary-destructive"
					aria-label={`Delete ${index.name}`}
					onClick={() => removal.ask(index)}
				>
					Delete
				</Button>
			),
		},
	];

	return (
		<Page
			title="Vectors"
			actions={
				<Button ref={newIndex} variant="primary" onClick={() => setIsCreating(true)}>
					New index
				</Button>
			}
		>
			{removal.error && <Failure error={removal.error} />}
			{isCreating && (
				<InView>
					<NewIndexForm
						onCreated={({ name }) => {
							setIsCreating(false);
							setParameters({ index: name });
							indexes.reload();
						}}
						onCancel={() => setIsCreating(false)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete ${removal.row.name}?`}
					text="Its vectors are deleted. This cannot be undone."
					button="Delete"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={indexes}>
				{(rows) => (
					<DataTable
						framed
						label="Indexes"
						columns={columns}
						rows={rows}
						rowKey={({ name }) => name}
						empty="This account has no vector indexes. An index finds the vectors that are nearest to another one, such as texts with a similar meaning."
					/>
				)}
			</Loading>
			{open && (
				<InView key={open.name}>
					<IndexPart index={open} />
				</InView>
			)}
		</Page>
	);
}

const COLUMNS: readonly Column<VectorIndex>[] = [
	{ title: "Dimensions", numeric: true, cell: ({ config }) => integer(config.dimensions) },
	{ title: "Metric", cell: ({ config }) => config.metric },
	{ title: "Store", cell: ({ store }) => store ?? "in the gateway" },
	{ title: "Created", cell: ({ created_on }) => instant(created_on) },
];
