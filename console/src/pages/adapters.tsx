import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { FILES } from "../adapters/files.ts";
import { AdapterForm } from "../adapters/form.tsx";
import type { FineTune } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { bytes, instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";

const isComplete = ({ files }: FineTune): boolean => files.length === FILES.length;

export default function Adapters() {
	const { api } = useSession();
	const [form, setForm] = useState<{ adapter: FineTune | undefined }>();
	const newAdapter = useRef<HTMLButtonElement>(null);
	const path = api.account("/ai/finetunes");
	const adapters = useLoad(async (signal) => (await api.get<FineTune[]>(path, {}, signal)).result, [api]);

	const removal = useRemoval<FineTune>(async ({ id }) => {
		await api.send("DELETE", `${path}/${id}`);
		setForm((open) => (open?.adapter?.id === id ? undefined : open));
		// The row of the adapter disappears with its button.
		newAdapter.current?.focus();
		adapters.reload();
	});

	const columns: Column<FineTune>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (adapter) => (
				<div className="buttons">
					{!isComplete(adapter) && (
						<Button
							size="sm"
							aria-label={`Upload files of ${adapter.name}`}
							onClick={() => setForm({ adapter })}
						>
							Upload
						</Button>
					)}
					<Button
						size="sm"
						variant="secondary-destructive"
						aria-label={`Delete ${adapter.name}`}
						onClick={() => removal.ask(adapter)}
					>
						Delete
					</Button>
				</div>
			),
		},
	];

	return (
		<Page
			title="Adapters"
			actions={
				<Button ref={newAdapter} variant="primary" onClick={() => setForm({ adapter: undefined })}>
					New adapter
				</Button>
			}
		>
			{removal.error && <Failure error={removal.error} />}
			{form && (
				<InView key={form.adapter?.id ?? "new"}>
					<AdapterForm
						adapter={form.adapter}
						onSaved={() => {
							setForm(undefined);
							adapters.reload();
						}}
						onCancel={() => {
							setForm(undefined);
							// It may have been created before a file was refused.
							adapters.reload();
						}}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete ${removal.row.name}?`}
					text="Requests that name the adapter are refused from now on. This cannot be undone."
					button="Delete"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={adapters}>
				{(rows) => (
					<DataTable
						framed
						label="Adapters"
						columns={columns}
						rows={rows}
						rowKey={({ id }) => id}
						empty="This account has no LoRA adapters. An adapter changes a base model for one purpose; requests name it as lora."
					/>
				)}
			</Loading>
		</Page>
	);
}

const COLUMNS: readonly Column<FineTune>[] = [
	{ title: "Name", cell: ({ name }) => <strong>{name}</strong> },
	{ title: "Base model", cell: ({ model }) => model },
	{
		title: "Status",
		cell: (adapter) =>
			isComplete(adapter) ? (
				<Badge variant="success">complete</Badge>
			) : (
				<Badge variant="warning">lacks files</Badge>
			),
	},
	{ title: "Rank", numeric: true, cell: ({ rank }) => rank ?? "" },
	{
		title: "Size",
		numeric: true,
		cell: ({ files }) => bytes(files.reduce((sum, file) => sum + file.bytes, 0)),
	},
	{ title: "Created", cell: ({ created_at }) => instant(created_at) },
	{ title: "Id", cell: ({ id }) => <code>{id}</code> },
];
