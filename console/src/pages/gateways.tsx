import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { useLoad } from "../api/use-load.ts";
import { GatewayForm } from "../gateways/form.tsx";
import { GatewayPart } from "../gateways/gateway.tsx";
import { NO_FILTERS } from "../gateways/logs.tsx";
import { Notes } from "../gateways/notes.tsx";
import { gatewayPath, gatewaysPath } from "../gateways/paths.ts";
import type { GatewayRow } from "../gateways/records.ts";
import { rulesOf } from "../gateways/rules.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";
import { Confirm } from "../tokens/confirm.tsx";

const MAX_LISTED = 100;

/** The gateways of the account, their settings and their logs. */
export default function Gateways() {
	const { api } = useSession();
	const [{ gateway: selected, ...filters }, setParameters] = useParameters({ gateway: "", ...NO_FILTERS });
	const [form, setForm] = useState<{ gateway?: GatewayRow }>();
	const [notes, setNotes] = useState<readonly string[]>([]);
	const newGateway = useRef<HTMLButtonElement>(null);
	const gateways = useLoad(
		async (signal) =>
			(await api.get<GatewayRow[]>(gatewaysPath(api), { per_page: MAX_LISTED }, signal)).result,
		[api],
	);

	const removal = useRemoval<GatewayRow>(async ({ id }) => {
		await api.send("DELETE", gatewayPath(api, id));
		// The row of the gateway disappears with its button.
		newGateway.current?.focus();
		if (id === selected) setParameters({ gateway: "" });
		gateways.reload();
	});

	const columns: Column<GatewayRow>[] = [
		{
			title: "Name",
			cell: ({ id }) => (
				<button
					type="button"
					className="link"
					aria-current={id === selected}
					onClick={() => setParameters({ ...NO_FILTERS, gateway: id })}
				>
					{id}
				</button>
			),
		},
		...COLUMNS,
		{
			title: "Actions",
			cell: (gateway) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Edit ${gateway.id}`} onClick={() => setForm({ gateway })}>
						Edit
					</Button>
					{!gateway.is_default && (
						<Button
							size="sm"
							variant="secondary-destructive"
							aria-label={`Delete ${gateway.id}`}
							onClick={() => removal.ask(gateway)}
						>
							Delete
						</Button>
					)}
				</div>
			),
		},
	];

	return (
		<Page
			title="Gateways"
			actions={
				<Button ref={newGateway} variant="primary" onClick={() => setForm({})}>
					New gateway
				</Button>
			}
		>
			{removal.error && <Failure error={removal.error} />}
			<Notes notes={notes} />
			{form && (
				<InView key={`form ${form.gateway?.id ?? ""}`}>
					<GatewayForm
						gateway={form.gateway}
						onSaved={({ id }, saidNotes) => {
							setForm(undefined);
							setNotes(saidNotes);
							setParameters({ gateway: id });
							gateways.reload();
						}}
						onCancel={() => setForm(undefined)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete ${removal.row.id}?`}
					text="Its settings, keys, routes, cache and logs are deleted. This cannot be undone."
					button="Delete"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={gateways}>
				{(rows) => (
					<DataTable
						framed
						label="Gateways"
						columns={columns}
						rows={rows}
						rowKey={({ id }) => id}
						empty="This account has no gateways. A gateway keeps logs, caches answers and limits the requests and costs of an application."
					/>
				)}
			</Loading>
			{/* Also one that `npm run dev` serves although it is not created: it has logs, and is not listed. */}
			{selected !== "" && (
				<InView key={selected}>
					<GatewayPart id={selected} filters={filters} onFilter={setParameters} />
				</InView>
			)}
		</Page>
	);
}

const COLUMNS: readonly Column<GatewayRow>[] = [
	{
		title: "Rules",
		cell: (gateway) => rulesOf(gateway).join(", ") || <span className="subtle">none</span>,
	},
	{
		title: "Changed",
		// The default gateway exists without being created.
		cell: ({ modified_at }) => (Date.parse(modified_at) === 0 ? "–" : instant(modified_at)),
	},
];
