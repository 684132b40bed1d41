import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import type { GatewaySettings } from "../../../src/gateways/settings.ts";
import { errorOf } from "../api/error-of.ts";
import { CustomProviders } from "../gateways/custom-providers.tsx";
import { GatewayForm } from "../gateways/form.tsx";
import { GatewayPart } from "../gateways/gateway.tsx";
import { NO_FILTERS } from "../gateways/logs.tsx";
import { Notes } from "../gateways/notes.tsx";
import { gatewayPath } from "../gateways/paths.ts";
import { rulesOf } from "../gateways/rules.ts";
import { useGateways } from "../gateways/use-gateways.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { hasWords } from "../parts/has-words.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { useParameters } from "../parts/use-parameters.ts";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";

interface ShownForm {
	/** The present settings of the gateway that is changed. Absent: a new gateway. */
	gateway?: GatewaySettings;
	name?: string;
}

/** The gateways of the account, their settings and their logs, and the custom providers that all of them can call. */
export default function Gateways() {
	const { api } = useSession();
	const [{ search, gateway: selected, ...filters }, setParameters] = useParameters({
		search: "",
		gateway: "",
		...NO_FILTERS,
	});
	const [form, setForm] = useState<ShownForm>();
	const [notes, setNotes] = useState<readonly string[]>([]);
	const [error, setError] = useState<Error>();
	const newGateway = useRef<HTMLButtonElement>(null);
	const gateways = useGateways();
	const isCreated = gateways.value?.some(({ id }) => id === selected) ?? true;
	const show = (gateway: string): void => {
		setNotes([]);
		setParameters({ ...NO_FILTERS, gateway });
	};
	/** Another client may have changed the settings since the list was loaded. */
	async function edit(id: string): Promise<void> {
		setError(undefined);
		try {
			setForm({ gateway: (await api.get<GatewaySettings>(gatewayPath(api, id))).result });
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	const removal = useRemoval<GatewaySettings>(async ({ id }) => {
		await api.send("DELETE", gatewayPath(api, id));
		setForm((open) => (open?.gateway?.id === id ? undefined : open));
		// The row of the gateway disappears with its button.
		newGateway.current?.focus();
		if (id === selected) show("");
		gateways.reload();
	});

	const columns: Column<GatewaySettings>[] = [
		{
			title: "Name",
			cell: ({ id }) => (
				<button type="button" className="link" aria-current={id === selected} onClick={() => show(id)}>
					{id}
				</button>
			),
		},
		...COLUMNS,
		{
			title: "Actions",
			cell: (gateway) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Edit ${gateway.id}`} onClick={() => void edit(gateway.id)}>
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
			{error && <Failure error={error} />}
			<Notes title={`Notes on ${selected}`} notes={notes} />
			{form && (
				<InView key={`form ${form.gateway?.id ?? ""} ${form.gateway?.modified_at ?? ""}`}>
					<GatewayForm
						gateway={form.gateway}
						name={form.name}
						onSaved={({ id }, newNotes) => {
							setForm(undefined);
							if (id !== selected) show(id);
							setNotes(newNotes);
							gateways.reload();
						}}
						onCancel={() => setForm(undefined)}
					/>
				</InView>
			)}
			{removal.row && (
				<Confirm
					title={`Delete ${removal.row.id}?`}
					text="Its settings, routes, aliases, keys of providers, cache and logs are deleted. This cannot be undone."
					button="Delete"
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			<Loading of={gateways}>
				{(rows) => (
					<>
						<div className="filters">
							<SearchField
								label="Search gateways"
								value={search}
								onSearch={(text) => setParameters({ search: text })}
							/>
						</div>
						<DataTable
							framed
							label="Gateways"
							columns={columns}
							rows={rows.filter((gateway) => hasWords([gateway.id, ...rulesOf(gateway)].join(" "), search))}
							rowKey={({ id }) => id}
							empty={
								rows.length === 0
									? "This account has no gateways."
									: "No gateway has this in its name or rules."
							}
						/>
					</>
				)}
			</Loading>
			<CustomProviders />
			{selected !== "" && (
				<InView key={selected}>
					<GatewayPart
						id={selected}
						isCreated={isCreated}
						onCreate={() => setForm({ name: selected })}
						filters={filters}
						onFilter={setParameters}
					/>
				</InView>
			)}
		</Page>
	);
}

const COLUMNS: readonly Column<GatewaySettings>[] = [
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
