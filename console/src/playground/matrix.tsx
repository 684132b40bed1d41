import { Scroll } from "../parts/scroll.tsx";

interface Props {
	vectors: readonly number[][];
	texts: readonly string[];
}

const LABEL_CHARACTERS = 24;

/** The cosine similarity of each pair of texts. */
export function Matrix({ vectors, texts }: Props) {
	// The numbers make the names unique.
	const rows = vectors.map((vector, index) => ({
		number: index + 1,
		name: `${index + 1} ${shortened(texts[index] ?? "")}`,
		vector,
	}));
	return (
		<>
			<p className="subtle">
				{vectors.length} vectors of {vectors[0]?.length ?? 0} dimensions. Cosine similarity:
			</p>
			<Scroll label="Similarity">
				<table className="matrix">
					<thead>
						<tr>
							<td />
							{rows.map(({ name, number }) => (
								<th key={name} scope="col" title={name}>
									{number}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map((row) => (
							<tr key={row.name}>
								<th scope="row">{row.name}</th>
								{rows.map((column) => {
									const value = similarity(row.vector, column.vector);
									return (
										<td key={column.name} style={{ "--share": Math.max(0, value) }}>
											{value.toFixed(2)}
										</td>
									);
								})}
							</tr>
						))}
					</tbody>
				</table>
			</Scroll>
		</>
	);
}

const shortened = (text: string): string =>
	text.length > LABEL_CHARACTERS ? `${text.slice(0, LABEL_CHARACTERS).trimEnd()}…` : text;

function similarity(a: readonly number[], b: readonly number[]): number {
	const dot = (one: readonly number[], other: readonly number[]): number =>
		one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
	const length = Math.sqrt(dot(a, a) * dot(b, b));
	return length === 0 ? 0 : dot(a, b) / length;
}
