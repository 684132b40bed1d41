import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { useState } from "react";
import type { SearchInstance } from "../api/types.ts";
import { useCatalog } from "../models/catalog.ts";
import { NameField } from "../parts/name-field.tsx";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import { TOKENIZERS } from "./keywords.ts";
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
	const [tokenizer, setTokenizer] = useState("porter");
	const [source, setSource] = useState("");
	const served = (useCatalog().value ?? []).filter((model) => model.served);
	const namesOf = (task: string) =>
		served.filter((model) => model.task.name === task).map(({ name }) => name);

	async function send(): Promise<void> {
		const models = { embedding_model: embedding.trim(), ai_search_model: answering.trim() };
		const fields = {
			...{ id, ...models, indexing_options: { keyword_tokenizer: tokenizer } },
			...(source.trim() !== "" && { source: source.trim() }),
		};
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
				<NameField
					placeholder="The default"
					label="Embedding model"
					names={namesOf(EMBEDDINGS)}
					value={embedding}
					onChange={setEmbedding}
				/>
				<NameField
					placeholder="The default"
					label="Answering model"
					names={namesOf(CHATS)}
					value={answering}
					onChange={setAnswering}
				/>
				<Select
					label="Keywords"
					value={tokenizer}
					items={TOKENIZERS}
					onValueChange={(chosen) => setTokenizer(chosen ?? tokenizer)}
				/>
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
