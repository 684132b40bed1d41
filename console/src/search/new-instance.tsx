import { Input } from "@cloudflare/kumo/components/input";
import { useId, useState } from "react";
import type { SearchInstance } from "../api/types.ts";
import { useCatalog } from "../models/catalog.ts";
import { SaveForm } from "../parts/save-form.tsx";
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
	const [source, setSource] = useState("");

	async function send(): Promise<void> {
		const models = { embedding_model: embedding.trim(), ai_search_model: answering.trim() };
		const fields = { id, ...models, ...(source.trim() !== "" && { source: source.trim() }) };
		onCreated(await api.send<SearchInstance>("POST", instancesPath(api, namespace), fields));
	}

	return (
		<SaveForm title="New instance" button="Create" onSend={send} onCancel={onCancel}>
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
				<Input
					label="Source"
					placeholder="Uploads only"
					title="The name of a bucket, or the address of a website"
					autoComplete="off"
					value={source}
					onChange={(event) => setSource(event.target.value)}
				/>
			</div>
		</SaveForm>
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
