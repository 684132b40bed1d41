import { useState } from "react";
import { answerOf, bodyOf, jsonRequest } from "../api/client.ts";
import type { Batch } from "../api/types.ts";
import { DropZone } from "../parts/drop-zone.tsx";
import { bytes } from "../parts/format.ts";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";

interface Props {
	onCreated(): void;
	onCancel(): void;
}

/** Of the first line, which has the endpoint. */
const FIRST_BYTES = 1_000_000;

/** The gateway checks the file after the batch is created. */
export function BatchForm({ onCreated, onCancel }: Props) {
	const { api } = useSession();
	const [file, setFile] = useState<File>();

	async function send(): Promise<void> {
		if (!file) return;
		const endpoint = await endpointOf(file);
		const body = new FormData();
		body.set("purpose", "batch");
		body.set("file", file);
		const stored = await api.fetch(api.account("/ai/v1/files"), { method: "POST", body });
		const { id } = await answerOf<{ id: string }>(stored, "id");
		const batch = { input_file_id: id, endpoint, completion_window: "24h" };
		const created = await api.fetch(api.account("/ai/v1/batches"), jsonRequest("POST", batch));
		await bodyOf<Batch>(created.json());
		onCreated();
	}

	return (
		<SaveForm
			title="New batch"
			button="Create"
			isReady={file !== undefined}
			status="The file is being sent …"
			onSend={send}
			onCancel={onCancel}
		>
			<DropZone
				label="Requests"
				hint="Drop a .jsonl file here, or choose it: one request of OpenAI's batch API in each line."
				accept=".jsonl"
				onFiles={(files) => setFile(files[0])}
			>
				{file && (
					<p className="plain">
						{file.name}: {bytes(file.size)}
					</p>
				)}
			</DropZone>
		</SaveForm>
	);
}

/** All lines have the same `url`, which is the endpoint of the batch. */
async function endpointOf(file: File): Promise<string> {
	const [line = ""] = (await file.slice(0, FIRST_BYTES).text()).split("\n", 1);
	try {
		const { url } = JSON.parse(line) as { url?: unknown };
		if (typeof url === "string") return url;
	} catch {
		// Reported below.
	}
	throw new Error('The first line of the file is no request with a "url", such as /v1/chat/completions');
}
