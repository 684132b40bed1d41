import { Button } from "@cloudflare/kumo/components/button";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { bodyOf, jsonRequest } from "../api/client.ts";
import type { Batch } from "../api/types.ts";
import { DropZone } from "../parts/drop-zone.tsx";
import { Failure } from "../parts/failure.tsx";
import { bytes } from "../parts/format.ts";
import { Section } from "../parts/page.tsx";
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
	const [sending, setSending] = useState(false);
	const [error, setError] = useState<Error>();
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => form.current?.querySelector("input")?.focus({ preventScroll: true }), []);

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		if (!file) return;
		setError(undefined);
		setSending(true);
		try {
			const endpoint = await endpointOf(file);
			const body = new FormData();
			body.set("purpose", "batch");
			body.set("file", file);
			const stored = await api.fetch(api.account("/ai/v1/files"), { method: "POST", body });
			const { id } = await bodyOf<{ id: string }>(stored.json());
			const batch = { input_file_id: id, endpoint, completion_window: "24h" };
			const created = await api.fetch(api.account("/ai/v1/batches"), jsonRequest("POST", batch));
			await bodyOf<Batch>(created.json());
			onCreated();
		} catch (failure) {
			setError(failure instanceof Error ? failure : new Error(String(failure)));
			setSending(false);
		}
	}

	return (
		<Section title="New batch">
			{error && <Failure error={error} />}
			<form className="stack" ref={form} onSubmit={(event) => void submit(event)}>
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
				<div className="buttons">
					<Button type="submit" variant="primary" disabled={!file || sending}>
						Create
					</Button>
					<Button type="button" onClick={onCancel}>
						Cancel
					</Button>
					<span role="status">{sending && "The file is being sent …"}</span>
				</div>
			</form>
		</Section>
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
