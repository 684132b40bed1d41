import { Input } from "@cloudflare/kumo/components/input";
import { useState } from "react";
import type { FineTune } from "../api/types.ts";
import { useCatalog } from "../models/catalog.ts";
import { DropZone } from "../parts/drop-zone.tsx";
import { bytes } from "../parts/format.ts";
import { NameField } from "../parts/name-field.tsx";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import { type AdapterFiles, chosenOf, FILES } from "./files.ts";

interface Props {
	/** An adapter that lacks files. Absent: a new one. */
	adapter: FineTune | undefined;
	onSaved(): void;
	onCancel(): void;
}

/** The gateway continues with the same adapter if the form is sent again after a file was refused. */
export function AdapterForm({ adapter, onSaved, onCancel }: Props) {
	const { api } = useSession();
	const catalog = useCatalog();
	const [name, setName] = useState(adapter?.name ?? "");
	const [model, setModel] = useState(adapter?.model ?? "");
	const [files, setFiles] = useState<AdapterFiles>({});
	const [sending, setSending] = useState("The adapter");
	const stored = new Set(adapter?.files.map((file) => file.name));
	const missing = FILES.filter((file) => !files[file] && !stored.has(file));
	const models = (catalog.value ?? []).filter(({ properties }) =>
		properties.some(({ property_id }) => property_id === "lora"),
	);

	async function send(): Promise<void> {
		setSending("The adapter");
		const { id } = await api.send<FineTune>("POST", api.account("/ai/finetunes"), { name, model });
		for (const fileName of FILES) {
			const file = files[fileName];
			if (!file) continue;
			setSending(fileName);
			const body = new FormData();
			body.set("file_name", fileName);
			body.set("file", file);
			const path = api.account(`/ai/finetunes/${id}/finetune-assets`);
			await api.fetch(path, { method: "POST", body });
		}
		onSaved();
	}

	return (
		<SaveForm
			title={adapter ? `Files of ${adapter.name}` : "New adapter"}
			button="Upload"
			isReady={missing.length === 0}
			status={`${sending} is being sent …`}
			onSend={send}
			onCancel={onCancel}
		>
			<div className="filters">
				<Input
					label="Name"
					required
					maxLength={128}
					readOnly={adapter !== undefined}
					value={name}
					onChange={(event) => setName(event.target.value)}
				/>
				<NameField
					label="Base model"
					placeholder="@cf/…"
					required
					readOnly={adapter !== undefined}
					names={models.map(({ name: each }) => each)}
					value={model}
					onChange={setModel}
				/>
			</div>
			<DropZone
				label="Files"
				hint={`Drop ${FILES.join(" and ")} here, or choose both. PEFT writes them.`}
				accept=".json,.safetensors"
				onFiles={(chosen) => setFiles((before) => chosenOf(before, chosen))}
			>
				<ul className="plain">
					{FILES.map((file) => (
						<li key={file}>
							{file}: {files[file] ? bytes(files[file].size) : stored.has(file) ? "stored" : "missing"}
						</li>
					))}
				</ul>
			</DropZone>
		</SaveForm>
	);
}
