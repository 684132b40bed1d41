import { Input } from "@cloudflare/kumo/components/input";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useState } from "react";
import { useCatalog } from "../models/catalog.ts";
import { NameField } from "../parts/name-field.tsx";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import type { Replay } from "./records.ts";

interface Props {
	/** The path of the gateway's replays. */
	path: string;
	onCreated(): void;
	onCancel(): void;
}

const TASK = "Text Generation";
const DEFAULT_LOGS = 100;
const MAX_LOGS = 1_000;

/** Chooses logs by their filters, and the model that answers them. */
export function ReplayForm({ path, onCreated, onCancel }: Props) {
	const { api } = useSession();
	const catalog = useCatalog();
	const [model, setModel] = useState("");
	const [judge, setJudge] = useState("");
	const [logged, setLogged] = useState("");
	const [since, setSince] = useState("");
	const [metadata, setMetadata] = useState("");
	const [limit, setLimit] = useState(String(DEFAULT_LOGS));
	const [onlySuccess, setOnlySuccess] = useState(true);
	const names = (catalog.value ?? []).filter(({ task }) => task.name === TASK).map(({ name }) => name);

	async function send(): Promise<void> {
		const filters = [
			...(onlySuccess ? [{ key: "success", operator: "eq", value: [true] }] : []),
			...(logged.trim() === "" ? [] : [{ key: "model", operator: "eq", value: [logged.trim()] }]),
			...(since === ""
				? []
				: [{ key: "created_at", operator: "gt", value: [new Date(since).toISOString()] }]),
		];
		await api.send<Replay>("POST", path, {
			...{ model: model.trim(), filters, limit: Number(limit) },
			...(judge.trim() !== "" && { judge: judge.trim() }),
			...(metadata.trim() !== "" && { search: metadata.trim() }),
		});
		onCreated();
	}

	return (
		<SaveForm
			title="New replay"
			button="Create"
			isReady={model.trim() !== ""}
			status="The logs are being chosen …"
			onSend={send}
			onCancel={onCancel}
		>
			<div className="filters">
				<NameField
					label="New model"
					placeholder="@cf/…"
					required
					names={names}
					value={model}
					onChange={setModel}
				/>
				<NameField label="Judge" placeholder="None" names={names} value={judge} onChange={setJudge} />
			</div>
			<fieldset className="filters" aria-label="Logs">
				<NameField
					label="Model of the logs"
					placeholder="Any"
					names={names}
					value={logged}
					onChange={setLogged}
				/>
				<Input
					label="Since (UTC)"
					type="date"
					value={since}
					onChange={(event) => setSince(event.target.value)}
				/>
				<Input
					label="Metadata"
					placeholder="A part of it"
					value={metadata}
					onChange={(event) => setMetadata(event.target.value)}
				/>
				<Input
					label="Logs at most"
					type="number"
					required
					min={1}
					max={MAX_LOGS}
					value={limit}
					onChange={(event) => setLimit(event.target.value)}
				/>
				<Switch label="Only successful" checked={onlySuccess} onCheckedChange={setOnlySuccess} />
			</fieldset>
		</SaveForm>
	);
}
