import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { SearchInstance } from "../api/types.ts";
import { useCatalog } from "../models/catalog.ts";
import { Failure } from "../parts/failure.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { instancesPath } from "./paths.ts";

interface Props {
	namespace: string;
	onCreated(instance: SearchInstance): void;
	onCancel(): void;
}

const EMBEDDINGS = "Text Embeddings";
const CHATS = "Text Generation";

export function NewInstanceForm({ namespace, onCreated, onCancel }: Props) {
	const { api } = useSession();
	const [id, setId] = useState("");
	const [embedding, setEmbedding] = useState("");
	const [answering, setAnswering] = useState("");
	const [isSending, setIsSending] = useState(false);
	const [error, setError] = useState<Error>();
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => form.current?.querySelector("input")?.focus({ preventScroll: true }), []);

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		setError(undefined);
		setIsSending(true);
		try {
			const fields = { id, embedding_model: embedding.trim(), ai_search_model: answering.trim() };
			onCreated(await api.send<SearchInstance>("POST", instancesPath(api, namespace), fields));
		} catch (failure) {
			setError(failure instanceof Error ? failure : new Error(String(failure)));
			setIsSending(false);
		}
	}

	return (
		<Section title="New instance">
			{error && <Failure error={error} />}
			<form className="stack" ref={form} onSubmit={(event) => void submit(event)}>
				<div className="filters">
					<Input
						label="Name"
						required
						maxLength={64}
						pattern="[a-z0-9_]+(-[a-z0-9_]+)*"
						title="Lower-case letters, digits, _ and single -"
						autoComplete="off"
						value={id}
						onChange={(event) => setId(event.target.value)}
					/>
					<ModelField label="Embedding model" task={EMBEDDINGS} value={embedding} onChange={setEmbedding} />
					<ModelField label="Answering model" task={CHATS} value={answering} onChange={setAnswering} />
				</div>
				<div className="buttons">
					<Button type="submit" variant="primary" disabled={isSending}>
						Create
					</Button>
					<Button type="button" onClick={onCancel}>
						Cancel
					</Button>
				</div>
			</form>
		</Section>
	);
}

interface ModelFieldProps {
	label: string;
	task: string;
	value: string;
	onChange(value: string): void;
}

/** A model of a task, by its name. Empty: the default. */
function ModelField({ label, task, value, onChange }: ModelFieldProps) {
	const catalog = useCatalog();
	const list = useId();
	const models = (catalog.value ?? []).filter((model) => model.task.name === task && model.served);
	return (
		<>
			<Input
				label={label}
				placeholder="The default"
				autoComplete="off"
				list={list}
				value={value}
				onChange={(event) => onChange(event.target.value)}
			/>
			<datalist id={list}>
				{models.map(({ id, name }) => (
					<option key={id} value={name} />
				))}
			</datalist>
		</>
	);
}
