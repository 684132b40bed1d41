import type { VectorIndex, VectorMatch } from "../api/types.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { milliseconds } from "../parts/format.ts";

interface Props {
	matches: readonly VectorMatch[];
	time: number | undefined;
	metric: VectorIndex["config"]["metric"];
	onChoose(id: string): void;
}

/** What the score of a metric means. */
const SCORES = {
	cosine: "Score: the cosine, 1 is the same direction",
	euclidean: "Score: the distance, 0 is the same vector",
	"dot-product": "Score: the negative product, the smallest is the best",
} as const;

const DIGITS = 4;

export function Matches({ matches, metric, onChoose, time }: Props) {
	const columns: Column<VectorMatch>[] = [
		{ title: "Score", numeric: true, cell: ({ score }) => score.toFixed(DIGITS) },
		{
			title: "Id",
			cell: ({ id }) => (
				<button type="button" className="link" onClick={() => onChoose(id)}>
					{id}
				</button>
			),
		},
		{ title: "Namespace", cell: ({ namespace }) => namespace ?? "" },
		{
			title: "Metadata",
			cell: ({ metadata }) => metadata && <code className="metadata">{JSON.stringify(metadata)}</code>,
		},
	];
	return (
		<div className="stack tight">
			<DataTable
				label="Results"
				columns={columns}
				rows={matches}
				rowKey={({ id }) => id}
				empty="No vector matches."
			/>
			{matches.length > 0 && (
				<p className="subtle">
					{SCORES[metric]}. {time !== undefined && `Answered in ${milliseconds(time)}.`}
				</p>
			)}
		</div>
	);
}
