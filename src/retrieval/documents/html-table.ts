/** Distinguishes layout tables from data tables, and bounds the spans of cells. */
import type { Element, Properties } from "hast";
import type { Work } from "./work.ts";

const MAX_SPAN = 100;

interface Shape {
	/** The cells of each row. */
	rows: Element[][];
	hasHeader: boolean;
	hasTable: boolean;
}

/**
 * Whether a table only lays out the page: by its `role`, or because it has no header and contains another table or has one column.
 * For a data table, spends the cost of all cells, including those added by spans and to short rows.
 */
export function isLayout(table: Element, work: Work): boolean {
	const { rows, hasHeader, hasTable } = shapeOf(table);
	const role = String(table.properties.role ?? "");
	if (/^(?:presentation|none)$/i.test(role)) return true;
	if (!hasHeader && (hasTable || rows.every((cells) => cells.length <= 1))) return true;
	const columns: number[] = rows.map(() => 0);
	let widest = 0;
	for (const [i, cells] of rows.entries())
		for (const { properties } of cells) {
			const { colSpan, rowSpan } = cellSpans(properties);
			const end = Math.min(i + rowSpan, rows.length);
			work.spend(((end - i) * colSpan) / 2);
			for (let row = i; row < end; row++) {
				columns[row] = (columns[row] ?? 0) + colSpan;
				widest = Math.max(widest, columns[row] ?? 0);
			}
		}
	work.spend((widest * rows.length) / 2);
	return false;
}

function shapeOf(table: Element): Shape {
	const shape: Shape = { rows: [], hasHeader: false, hasTable: false };
	const visit = (node: Element): void => {
		for (const child of node.children) {
			if (child.type !== "element") continue;
			if (child.tagName === "table") shape.hasTable = true;
			else {
				if (child.tagName === "tr") shape.rows.push([]);
				else if (child.tagName === "td" || child.tagName === "th") shape.rows.at(-1)?.push(child);
				if (child.tagName === "th" || child.tagName === "thead") shape.hasHeader = true;
				visit(child);
			}
		}
	};
	visit(table);
	return shape;
}

/** The spans of a cell, bounded. The standard allows 65534 rows by 1000 columns. */
export function cellSpans({ colspan, rowspan, align }: Properties): {
	colSpan: number;
	rowSpan: number;
	align?: string;
} {
	return {
		colSpan: bounded(colspan),
		rowSpan: bounded(rowspan),
		...(typeof align === "string" && { align }),
	};
}

function bounded(span: Properties[string]): number {
	const value = Number.parseInt(String(span ?? 1), 10);
	return value >= 1 ? Math.min(value, MAX_SPAN) : 1;
}
