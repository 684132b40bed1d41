import { Button } from "@cloudflare/kumo/components/button";
import { Select } from "@cloudflare/kumo/components/select";
import { useRef, useState } from "react";
import type { SearchInstance, SearchNamespace } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useRemoval } from "../parts/use-removal.ts";
import { InstancePart } from "../search/instance.tsx";
import { NewInstanceForm } from "../search/new-instance.tsx";
import { DEFAULT_NAMESPACE, instancePath, instancesPath } from "../search/paths.ts";
import { useSession } from "../session/session.ts";

const PER_PAGE = 50;
const NO_INSTANCES =
	"No instances of AI Search here. An instance indexes files, finds their passages by meaning and by keyword, and lets a model answer from them.";

export default function Search() {
	const { api } = useSession();
	const [{ namespace, instance: selected }, setParameters] = useParameters({
		...{ namespace: DEFAULT_NAMESPACE, instance: "" },
	});
	const [isCreating, setIsCreating] = useState(false);
	const newInstance = useRef<HTMLButtonElement>(null);
	const namespaces = useLoad(
		async (signal) =>
			(await api.get<SearchNamespace[]>(api.account("/ai-search/namespaces"), { per_page: PER_PAGE }, signal))
				.result,
		[api],
	);
	const [page, setPage] = useState(1);
	const instances = useLoad(
		(signal) =>
			api.get<SearchInstance[]>(instancesPath(api, namespace), { page, per_page: PER_PAGE }, signal),
		[api, namespace, page],
	);
	const names = (namespaces.value ?? []).map(({ name }) => name);

	const removal = useRemoval<SearchInstance>(async ({ id }) => {
		await api.send("DELETE", instancePath(api, { namespace, id }));
		// The row of the instance disappears with its button.
		newInstance.current?.focus();
		if (id === selected) setParameters({ instance: "" });
		instances.reload();
	});

	const columns: Column<SearchInstance>[] = [
		{
			title: "Name",
			cell: ({ id }) => (
				<button
					type="button"
					className="link"
					aria-current={id === selected}
					onClick={() => setParameters({ instance: id })}
				>
					{id}
				</button>
			),
		},
		...COLUMNS,
		{
			title: "Actions",
			cell: (instance) => (
				<Button
					size="sm"
					variant="secondary-destructive"
					aria-label={`Delete ${instance.id}`}
					onClick={() => removal.ask(instance)}
				>
					Delete
				</Button>
			),
		},
	];

	return (
		<Page
			title="Search"
			actions={
				<Button ref={newInstance} variant="primary" onClick={() => setIsCreating(true)}>
					New instance
				</Button>
			}
		>
			{names.length > 1 && (
				<div className="filters">
					<Select
						label="Namespace"
						value={namespace}
						items={Object.fromEntries(names.map((name) => [name, name]))}
						onValueChange={(chosen) => {
							setPage(1);
							setParameters({ namespace: chosen ?? DEFAULT_NAMESPACE, instance: "" });
						}}
					/>
				</div>
			)}
			{removal.error && <Failure error={removal.error} />}
			{isCreating && (
				<InView>
					<NewInstanceForm
						namespace={namespace}
						onCreated={({ id }) => {
							setIsCreating(false);
							setPage(1);
							setParameters({ instance: id });
							instances.reload();
						}}
						onCancel={() => setIsCreating(false)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete ${removal.row.id}?`}
					text="Its files, texts and vectors are deleted. This cannot be undone."
					button="Delete"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={instances}>
				{({ result, info }) => (
					<>
						<DataTable
							framed
							label="Instances"
							columns={columns}
							rows={result}
							rowKey={({ id }) => id}
							empty={page > 1 ? "No older instances." : NO_INSTANCES}
						/>
						<Pager page={page} hasOlder={page * PER_PAGE < (info.total_count ?? 0)} onPage={setPage} />
					</>
				)}
			</Loading>
			{selected !== "" && (
				<InView key={`${namespace}/${selected}`}>
					<OpenInstance path={instancePath(api, { namespace, id: selected })} />
				</InView>
			)}
		</Page>
	);
}

/** It need not be in the page of the list. */
function OpenInstance({ path }: { path: string }) {
	const { api } = useSession();
	const instance = useLoad(
		async (signal) => (await api.get<SearchInstance>(path, {}, signal)).result,
		[api, path],
	);
	return <Loading of={instance}>{(value) => <InstancePart instance={value} />}</Loading>;
}

const COLUMNS: readonly Column<SearchInstance>[] = [
	{ title: "Status", cell: ({ status }) => status },
	{
		title: "Finds by",
		cell: ({ index_method: { keyword, vector } }) =>
			[vector && "meaning", keyword && "keyword"].filter(Boolean).join(" and "),
	},
	{ title: "Embedding model", cell: ({ embedding_model }) => embedding_model },
	{ title: "Answering model", cell: ({ ai_search_model }) => ai_search_model },
	{ title: "Created", cell: ({ created_at }) => instant(created_at) },
];
