import { Button } from "@cloudflare/kumo/components/button";
import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { type FormEvent, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { MetadataIndex, VectorIndex } from "../api/types.ts";
import { useCatalog } from "../models/catalog.ts";
import { Failure } from "../parts/failure.tsx";
import { json } from "../parts/json.ts";
import { NameField } from "../parts/name-field.tsx";
import type { VectorQuery } from "./query.ts";

interface Props {
	index: VectorIndex;
	metadataIndexes: readonly MetadataIndex[];
	isAsking: boolean;
	onAsk(query: VectorQuery): void;
}

const BY = { text: "Text", vector: "Vector", id: "Id of a vector" } as const;
type By = keyof typeof BY;
const EMBEDDINGS = "Text Embeddings";
const MAX_RESULTS = 50;

export function QueryForm({ index, isAsking, metadataIndexes, onAsk }: Props) {
	const { dimensions } = index.config;
	const catalog = useCatalog();
	const models = (catalog.value ?? []).filter(({ served, task }) => served && task.name === EMBEDDINGS);
	const fitting = models.filter(({ properties }) =>
		properties.some(
			({ property_id, value }) => property_id === "output_dimensions" && value === String(dimensions),
		),
	);
	const [by, setBy] = useState<By>("text");
	const [text, setText] = useState("");
	const [chosenModel, setModel] = useState<string>();
	const [topK, setTopK] = useState("10");
	const [namespace, setNamespace] = useState("");
	const [filter, setFilter] = useState("");
	const [error, setError] = useState<Error>();
	const model = chosenModel ?? fitting[0]?.name ?? models[0]?.name ?? "";
	const properties = metadataIndexes.map(({ propertyName }) => propertyName).join(", ");

	function submit(event: FormEvent): void {
		event.preventDefault();
		setError(undefined);
		try {
			onAsk({
				...(by === "text" && { text, model: model.trim() }),
				...(by === "vector" && { vector: numbers(text) }),
				...(by === "id" && { vectorId: text.trim() }),
				...{ topK: Number(topK), returnMetadata: "all", returnValues: true },
				...(namespace.trim() !== "" && { namespace: namespace.trim() }),
				...(filter.trim() !== "" && { filter: json(filter, "The filter") }),
			});
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	return (
		<form className="stack" onSubmit={submit}>
			{error && <Failure error={error} />}
			<div className="filters">
				<Select
					label="Search by"
					value={by}
					items={BY}
					onValueChange={(chosen) => setBy((chosen as By | null) ?? "text")}
				/>
				{by === "text" && (
					<NameField
						label="Embedding model"
						required
						names={models.map(({ name }) => name)}
						value={model}
						onChange={setModel}
					/>
				)}
				<Input
					label="Results"
					type="number"
					required
					min={1}
					max={MAX_RESULTS}
					value={topK}
					onChange={(event) => setTopK(event.target.value)}
				/>
				<Input
					label="Namespace"
					placeholder="All"
					autoComplete="off"
					maxLength={64}
					value={namespace}
					onChange={(event) => setNamespace(event.target.value)}
				/>
			</div>
			{by === "id" ? (
				<Input
					label="Id"
					required
					autoComplete="off"
					value={text}
					onChange={(event) => setText(event.target.value)}
				/>
			) : (
				<InputArea
					label={BY[by]}
					required
					rows={2}
					placeholder={by === "vector" ? `[${dimensions} numbers]` : ""}
					value={text}
					onChange={(event) => setText(event.target.value)}
				/>
			)}
			<Input
				label="Filter"
				placeholder={'{"folder": {"$eq": "docs"}}'}
				description={
					properties === ""
						? "JSON. The index has no metadata indexes, so a filter finds nothing to compare."
						: `JSON. Properties with a metadata index: ${properties}`
				}
				autoComplete="off"
				value={filter}
				onChange={(event) => setFilter(event.target.value)}
			/>
			<div className="buttons">
				<Button type="submit" variant="primary" disabled={isAsking}>
					Search
				</Button>
			</div>
		</form>
	);
}

function numbers(text: string): number[] {
	const values = json(text, "The vector");
	if (!Array.isArray(values) || !values.every((value) => typeof value === "number"))
		throw new Error("The vector is not an array of numbers");
	return values;
}
