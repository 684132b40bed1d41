import { Button } from "@cloudflare/kumo/components/button";
import { type ReactNode, useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { Loaded } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useRemoval } from "../parts/use-removal.ts";
import { useSession } from "../session/session.ts";
import { Notes } from "./notes.tsx";

interface FormProps<Row> {
	/** Absent: a new one. */
	row: Row | undefined;
	/** `notes`: what the answer says beside its result. */
	onSaved(notes: readonly string[]): void;
	onCancel(): void;
}

interface Props<Row> {
	title: string;
	/** The label of the table. */
	label: string;
	/** What a row is, in the texts of buttons: `route`. */
	noun: string;
	/** The path of the list. */
	path: string;
	rows: Loaded<readonly Row[]> & { reload(): void };
	columns: readonly Column<Row>[];
	/** The last part of the path of a row. */
	idOf(row: Row): string;
	nameOf(row: Row): string;
	/** Shown in place of rows. */
	empty: string;
	/** What the deletion of a row does. */
	deletion: string;
	/** A row cannot be changed. */
	isFixed?: boolean;
	/** Further buttons of a row. */
	actions?(row: Row): ReactNode;
	form(props: FormProps<Row>): ReactNode;
	/** Between the form and the table. */
	children?: ReactNode;
}

/** A list of the API: its rows are created and changed in a form, and deleted after a confirmation. */
export function ManagedRows<Row>(props: Props<Row>) {
	const { title, label, noun, path, rows, idOf, nameOf, isFixed = false } = props;
	const { api } = useSession();
	const [form, setForm] = useState<{ row?: Row }>();
	const [notes, setNotes] = useState<readonly string[]>([]);
	const [error, setError] = useState<Error>();
	const newRow = useRef<HTMLButtonElement>(null);
	const pathOf = (row: Row): string => `${path}/${encodeURIComponent(idOf(row))}`;
	/** Another client may have changed the row since the list was loaded. */
	async function edit(row: Row): Promise<void> {
		setError(undefined);
		try {
			setForm({ row: (await api.get<Row>(pathOf(row))).result });
		} catch (failure) {
			setError(errorOf(failure));
		}
	}
	const removal = useRemoval<Row>(async (row) => {
		setNotes([]);
		await api.send("DELETE", pathOf(row));
		setForm((open) => (open?.row !== undefined && idOf(open.row) === idOf(row) ? undefined : open));
		// The row disappears with its button.
		newRow.current?.focus();
		rows.reload();
	});
	const columns: Column<Row>[] = [
		...props.columns,
		{
			title: "Actions",
			cell: (row) => (
				<div className="buttons">
					{props.actions?.(row)}
					{!isFixed && (
						<Button size="sm" aria-label={`Edit the ${noun} ${nameOf(row)}`} onClick={() => void edit(row)}>
							Edit
						</Button>
					)}
					<Button
						size="sm"
						variant="secondary-destructive"
						aria-label={`Delete the ${noun} ${nameOf(row)}`}
						onClick={() => removal.ask(row)}
					>
						Delete
					</Button>
				</div>
			),
		},
	];
	return (
		<Section
			title={title}
			actions={
				<Button ref={newRow} size="sm" onClick={() => setForm({})}>
					New {noun}
				</Button>
			}
		>
			{removal.error && <Failure error={removal.error} />}
			{error && <Failure error={error} />}
			<Notes title={`Notes on the ${noun}`} notes={notes} />
			{/* What is shown between the form and the table may have the id as its key, too. */}
			{form && (
				<InView key={`form ${form.row ? idOf(form.row) : ""}`}>
					{props.form({
						row: form.row,
						onSaved: (newNotes) => {
							setForm(undefined);
							setNotes(newNotes);
							rows.reload();
						},
						onCancel: () => setForm(undefined),
					})}
				</InView>
			)}
			{removal.row !== undefined && (
				<Confirm
					title={`Delete the ${noun} ${nameOf(removal.row)}?`}
					text={props.deletion}
					button={`Delete the ${noun}`}
					onConfirm={removal.confirm}
					onCancel={removal.cancel}
				/>
			)}
			{props.children}
			<Loading of={rows}>
				{(loaded) => (
					<DataTable label={label} columns={columns} rows={loaded} rowKey={idOf} empty={props.empty} />
				)}
			</Loading>
		</Section>
	);
}
