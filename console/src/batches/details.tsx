import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { Batch } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { saveBlob } from "../parts/download.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { decimal, instant, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { type ErrorKind, errorKinds } from "./error-kinds.ts";

interface Props {
	batch: Batch;
	onClose(): void;
}

/** Counts, costs, errors and results of a batch. */
export function BatchDetails({ batch, onClose }: Props) {
	const { api } = useSession();
	const [error, setError] = useState<Error>();
	const { id, errors, error_file_id: failed, output_file_id: output, usage, waiting } = batch;

	async function download(file: string, name: string): Promise<void> {
		setError(undefined);
		try {
			const stored = await api.fetch(api.account(`/ai/v1/files/${file}/content`));
			saveBlob(name, await stored.blob());
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	return (
		<Section title={id} actions={<Button onClick={onClose}>Close</Button>}>
			{error && <Failure error={error} />}
			{waiting && (
				<p className="plain" role="status">
					No line starts until {secondsInstant(waiting.until)}, or before if a limit is raised:{" "}
					{waiting.message}
				</p>
			)}
			<Facts
				rows={[
					["Model", batch.model],
					["Created", secondsInstant(batch.created_at)],
					["Expires", secondsInstant(batch.expires_at)],
					["Input tokens", integer(usage.input_tokens)],
					["Output tokens", integer(usage.output_tokens)],
					["Neurons", decimal(usage.neurons)],
					["Without the discount", decimal(usage.neurons_without_discount)],
				]}
			/>
			{errors && (
				<DataTable
					label="Mistakes in the file"
					columns={MISTAKES}
					rows={errors.data}
					rowKey={({ code, line }) => `${line} ${code}`}
					empty=""
				/>
			)}
			{failed !== null && <Failures file={failed} />}
			<div className="buttons">
				{output !== null && (
					<Button onClick={() => void download(output, `${id}.output.jsonl`)}>Download the answers</Button>
				)}
				{failed !== null && (
					<Button onClick={() => void download(failed, `${id}.errors.jsonl`)}>Download the errors</Button>
				)}
			</div>
		</Section>
	);
}

const secondsInstant = (seconds: number): string => instant(new Date(seconds * 1_000).toISOString());

function Failures({ file }: { file: string }) {
	const { api } = useSession();
	const kinds = useLoad(
		async (signal) => {
			const { body } = await api.fetch(api.account(`/ai/v1/files/${file}/content`), { signal });
			return body ? errorKinds(body) : [];
		},
		[api, file],
	);
	return (
		<Loading of={kinds}>
			{(rows) => (
				<DataTable label="Errors by kind" columns={KINDS} rows={rows} rowKey={({ kind }) => kind} empty="" />
			)}
		</Loading>
	);
}

const KINDS: readonly Column<ErrorKind>[] = [
	{ title: "Error", cell: ({ kind }) => <strong>{kind}</strong> },
	{ title: "Lines", numeric: true, cell: ({ lines }) => integer(lines) },
	{ title: "The first one", cell: ({ message }) => message },
];

const MISTAKES: readonly Column<{ code: string; message: string; line: number | null }>[] = [
	{ title: "Line", numeric: true, cell: ({ line }) => line ?? "" },
	{ title: "Mistake", cell: ({ code }) => <strong>{code}</strong> },
	{ title: "Message", cell: ({ message }) => message },
];
