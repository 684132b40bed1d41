import { Table } from "@cloudflare/kumo/components/table";
import type { Key, ReactNode } from "react";
import { Scroll } from "./scroll.tsx";

export interface Column<Row> {
	title: string;
	cell(row: Row): ReactNode;
	/** Numbers are aligned at their last digit. */
	numeric?: boolean;
}

interface Props<Row> {
	label: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	rowKey(row: Row): Key;
	/** Shown in place of rows. */
	empty: string;
	/** For a table outside of a card. */
	framed?: boolean;
}

export function DataTable<Row>({ label, columns, rows, rowKey, empty, framed }: Props<Row>) {
	if (rows.length === 0) return <p className="empty">{empty}</p>;
	return (
		<Scroll label={label} framed={framed}>
			<Table>
				<Table.Header>
					<Table.Row>
						{columns.map(({ title, numeric }) => (
							<Table.Head key={title} className={numeric ? "numeric" : ""}>
								{title}
							</Table.Head>
						))}
					</Table.Row>
				</Table.Header>
				<Table.Body>
					{rows.map((row) => (
						<Table.Row key={rowKey(row)}>
							{columns.map(({ title, cell, numeric }) => (
								<Table.Cell key={title} className={numeric ? "numeric" : ""}>
									{cell(row)}
								</Table.Cell>
							))}
						</Table.Row>
					))}
				</Table.Body>
			</Table>
		</Scroll>
	);
}
