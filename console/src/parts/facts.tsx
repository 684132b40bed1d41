import type { ReactNode } from "react";

/** Names and values. Rows without a value are left out. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
	return (
		<dl className="facts">
			{rows
				.filter(([, value]) => value !== undefined && value !== null && value !== "")
				.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
		</dl>
	);
}
